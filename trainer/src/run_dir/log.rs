//! train.log, and the same lines on stderr.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use chrono::{DateTime, Utc};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use super::directory::RunDir;

static TRAIN_LOG: Mutex<Option<File>> = Mutex::new(None);
static QUIET: AtomicBool = AtomicBool::new(false);

/// Sends this process's log to stderr, in LibreYOLO's form: `TIME | LEVEL    | message`, times in UTC.
///
/// To be called once, by the program.
pub fn install() {
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(Level::INFO)
        .event_format(LibreYolo)
        .with_writer(|| Tee)
        .finish();
    // A second call leaves the first one's choice.
    let _ = tracing::subscriber::set_global_default(subscriber);
}

/// From now on only warnings and errors: of several processes, one tells the story.
pub fn quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Logs a panic as one line. Those of libtorch's bindings become the run's error, which says the same.
pub fn shorten_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic
            .location()
            .map_or_else(String::new, |place| format!(" at {place}"));
        let text = panic.payload_as_str().unwrap_or_default();
        let text = text.split("\\n").next().unwrap_or_default();
        tracing::error!("panic{place}: {text}");
    }));
}

/// Copies the log to the run's train.log from now on; a resumed run's goes on where it ended.
///
/// # Errors
/// When the file can't be opened.
pub fn open_train_log(run_dir: &RunDir, resumed: bool) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.create(true).write(true);
    let file = if resumed {
        options.append(true)
    } else {
        options.truncate(true)
    }
    .open(run_dir.file("train.log"))?;
    *TRAIN_LOG.lock().unwrap_or_else(PoisonError::into_inner) = Some(file);
    Ok(())
}

/// Ends the copy.
pub fn close_train_log() {
    TRAIN_LOG
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
}

struct Tee;

/// A log that can't be written stops nothing.
impl Write for Tee {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let _ = io::stderr().write_all(line);
        if let Some(file) = TRAIN_LOG
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .as_mut()
        {
            let _ = file.write_all(line);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct LibreYolo;

impl<S, N> FormatEvent<S, N> for LibreYolo
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        if QUIET.load(Ordering::Relaxed) && *event.metadata().level() > Level::WARN {
            return Ok(());
        }
        let time: DateTime<Utc> = SystemTime::now().into();
        let level = match *event.metadata().level() {
            Level::ERROR => "ERROR",
            Level::WARN => "WARNING",
            Level::INFO => "INFO",
            Level::DEBUG | Level::TRACE => "DEBUG",
        };
        write!(
            writer,
            "{} | {level:<8} | ",
            time.format("%Y-%m-%d %H:%M:%S")
        )?;
        context.format_fields(writer.by_ref(), event)?;
        writeln!(writer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_libreyolos_form() {
        let dir = tempfile::tempdir().unwrap();
        let run = RunDir::open(dir.path()).unwrap();
        open_train_log(&run, false).unwrap();
        let subscriber = tracing_subscriber::fmt()
            .event_format(LibreYolo)
            .with_writer(|| Tee)
            .finish();
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!("Epoch {} - Average loss: {:.4}", 1, 18.28);
            tracing::warn!("careful");
        });
        close_train_log();
        let text = std::fs::read_to_string(run.file("train.log")).unwrap();
        let lines: Vec<&str> = text.lines().map(|line| &line[19..]).collect();
        assert_eq!(
            lines,
            [
                " | INFO     | Epoch 1 - Average loss: 18.2800",
                " | WARNING  | careful"
            ]
        );
    }
}
