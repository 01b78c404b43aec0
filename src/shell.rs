//! What every verb that acts holds: the way to talk, the settings, the ledger and the providers.

use crate::error::{Failure, Result};
use crate::exit_code::ExitCode;
use crate::remote::Connections;
use crate::settings::{Environment, Settings};
use crate::sink::{self, Keys, Sink, SinkError};
use crate::store::Ledger;
use crate::ui::Ui;
use gpurun_lifecycle::RunRecord;
use gpurun_providers::{CloudConfig, Provider, RegistryConfig};
use std::collections::BTreeMap;

pub(crate) struct Shell {
    pub(crate) ui: Ui,
    pub(crate) ledger: Ledger,
    pub(crate) providers: Vec<Box<dyn Provider>>,
    pub(crate) connections: Connections,
    /// What opens the destinations of checkpoints.
    pub(crate) sink_keys: Keys,
    /// Clouds that can't be asked, and where the key of each goes.
    without_key: Vec<(&'static str, String)>,
}

impl Shell {
    /// Reads the settings and opens the ledger, which is made when there is none.
    pub(crate) fn open(ui: &Ui) -> Result<Self> {
        let settings = settings()?;
        let ledger = Ledger::open(&settings.state)?;
        Ok(Self::new(ui, &settings, ledger))
    }

    /// Opens the ledger only if there is one: asking how things stand makes no file.
    pub(crate) fn open_existing(ui: &Ui) -> Result<Option<Self>> {
        let settings = settings()?;
        let ledger = Ledger::open_existing(&settings.state)?;
        Ok(ledger.map(|ledger| Self::new(ui, &settings, ledger)))
    }

    fn new(ui: &Ui, settings: &Settings, ledger: Ledger) -> Self {
        ui.verbose(settings.lines());
        Self {
            ui: *ui,
            ledger,
            providers: providers(settings),
            connections: Connections::new(&settings.state),
            sink_keys: Keys::find(&Environment::of_process()),
            without_key: settings
                .clouds_without_key()
                .map(|cloud| (cloud.name, cloud.where_the_key_goes()))
                .collect(),
        }
    }

    pub(crate) fn provider(&self, name: &str) -> Result<&dyn Provider> {
        provider(&self.providers, name).ok_or_else(|| {
            if let Some((_, where_to)) = self.without_key.iter().find(|(cloud, _)| *cloud == name) {
                return Failure::new(
                    ExitCode::Provider,
                    format!("{name} can't be asked: its key is not set here"),
                    format!("it goes into {where_to}"),
                );
            }
            let known: Vec<&str> = self.providers.iter().map(|known| known.name()).collect();
            Failure::new(
                ExitCode::Usage,
                format!("there is no provider `{name}`"),
                format!("one of: {}", known.join(", ")),
            )
        })
    }

    /// The run that a name or the start of an id means.
    pub(crate) fn find(&self, name_or_prefix: &str) -> Result<RunRecord> {
        Ok(self.ledger.find(name_or_prefix)?)
    }
}

impl Shell {
    /// The run's folder where its checkpoints go.
    pub(crate) fn sink(&self, run: &RunRecord) -> Result<Box<dyn Sink>, SinkError> {
        sink::of_run(
            &run.spec.checkpoints.to,
            &self.sink_keys,
            &run.name,
            &run.id,
        )
    }
}

pub(crate) fn settings() -> Result<Settings> {
    Ok(Settings::load(&Environment::of_process())?)
}

/// This machine, and every cloud with a key.
pub(crate) fn providers(settings: &Settings) -> Vec<Box<dyn Provider>> {
    registry(settings, settings.clouds())
}

/// Those, and the clouds that show what they have to anybody.
pub(crate) fn markets(settings: &Settings) -> Vec<Box<dyn Provider>> {
    registry(settings, settings.markets())
}

fn registry(settings: &Settings, clouds: BTreeMap<String, CloudConfig>) -> Vec<Box<dyn Provider>> {
    let local = settings.local.clone();
    gpurun_providers::registry(&RegistryConfig { local, clouds })
}

/// The provider of this name; `None` where this version has none.
pub(crate) fn provider<'a>(
    providers: &'a [Box<dyn Provider>],
    name: &str,
) -> Option<&'a dyn Provider> {
    providers
        .iter()
        .map(AsRef::as_ref)
        .find(|provider| provider.name() == name)
}

/// Runs a verb's asynchronous part; nothing that doesn't need it pays for it.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime of one thread needs only memory and an epoll descriptor")
        .block_on(future)
}
