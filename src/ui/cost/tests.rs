use super::*;
use crate::commands::{Cli, Verb};
use chrono::{DateTime, Local, Utc};
use clap::Parser;

/// What a person sees: stdout, then stderr.
fn screen(flags: &str) -> String {
    let inputs = inputs(flags).unwrap_or_else(|error| panic!("{flags}: {error}"));
    let answer = ask(&inputs.question());
    forecast(&inputs, &answer)
        + &help(&inputs)
            .map(|help| format!("\n{help}"))
            .unwrap_or_default()
}

fn inputs(flags: &str) -> Result<Inputs, String> {
    let now: DateTime<Utc> = "2026-12-01T08:00:00Z".parse().expect("a time");
    let words = ["gpurun", "cost"]
        .into_iter()
        .chain(flags.split_whitespace());
    let cli = Cli::try_parse_from(words).map_err(|error| error.to_string())?;
    let Verb::Cost(args) = cli.verb else {
        return Err("another verb".to_owned());
    };
    args.inputs(&now.with_timezone(&Local))
        .map_err(|failure| format!("{:?}", failure.report))
}

#[test]
fn nothing_but_the_disk_is_the_measured_box() {
    insta::assert_snapshot!(screen("--disk 250"), @r"
    8x RTX 4090 · 250 GB · rates measured 2026-07-31

     state         $/h  $/day  what you keep
     running    3.4828  83.59  everything
     stopped    0.0685   1.64  the disk; GPUs are released, nobody reserves them
     destroyed  0.0000   0.00  what was pushed

     stopped    250 GB x $0.20 / 730 h = $0.0685/h
                (that box was billed $0.0694/h: a 720 h month)
     rebuild    15 min x $3.4828/h + 43 GB x $0.003/GB = $1.00
     break-even $1.00 / $0.0685/h = 14.6 h

     You did not say when you come back: stop now, destroy after 14.6 h. If you do
     come back, never more than twice the best choice; if you never do, $1.00 at
     most is lost.

     help: --away 10h, or --back-at, decides now; --restart-probability 0.7 counts
     the risk that the GPUs are gone (10.2 h)
    ");
    assert_eq!(screen(""), screen("--disk 250"));
    assert_eq!(
        screen("--gpu 4090x8"),
        screen("--disk 250"),
        "the same box by its name"
    );
}

#[test]
fn a_declared_return_decides() {
    insta::assert_snapshot!(screen("--disk 250 --away 10h"), @r"
    8x RTX 4090 · 250 GB · rates measured 2026-07-31

     state         $/h  $/day  what you keep
     running    3.4828  83.59  everything
     stopped    0.0685   1.64  the disk; GPUs are released, nobody reserves them
     destroyed  0.0000   0.00  what was pushed

     stopped    250 GB x $0.20 / 730 h = $0.0685/h
                (that box was billed $0.0694/h: a 720 h month)
     rebuild    15 min x $3.4828/h + 43 GB x $0.003/GB = $1.00
     break-even $1.00 / $0.0685/h = 14.6 h

     You come back in 10 h: stop. Stop 10 h x $0.0685/h = $0.68; destroy, then
     rebuild for $1.00: stop saves $0.32.
    ");
    insta::assert_snapshot!(screen("--disk 250 --back-at 2026-12-05T08:00Z --restart-probability 0.7"), @r"
    8x RTX 4090 · 250 GB · rates measured 2026-07-31

     state         $/h  $/day  what you keep
     running    3.4828  83.59  everything
     stopped    0.0685   1.64  the disk; GPUs are released, nobody reserves them
     destroyed  0.0000   0.00  what was pushed

     stopped    250 GB x $0.20 / 730 h = $0.0685/h
                (that box was billed $0.0694/h: a 720 h month)
     rebuild    15 min x $3.4828/h + 43 GB x $0.003/GB = $1.00
     kept disk  0.7 x $1.00 = $0.70
     break-even $0.70 / $0.0685/h = 10.2 h

     You come back in 4 d: destroy. Stop 96 h x $0.0685/h + 0.3 x $1.00 = $6.88;
     destroy, then rebuild for $1.00: destroy saves $5.88.
    ");
    insta::assert_snapshot!(screen("--disk 250 --away 5min --resume-minutes 10"), @r"
    8x RTX 4090 · 250 GB · rates measured 2026-07-31

     state         $/h  $/day  what you keep
     running    3.4828  83.59  everything
     stopped    0.0685   1.64  the disk; GPUs are released, nobody reserves them
     destroyed  0.0000   0.00  what was pushed

     stopped    250 GB x $0.20 / 730 h = $0.0685/h
                (that box was billed $0.0694/h: a 720 h month)
     rebuild    15 min x $3.4828/h + 43 GB x $0.003/GB = $1.00
     resume     10 min x $3.4828/h = $0.58
     kept disk  $1.00 - $0.58 = $0.42
     break-even $0.42 / $0.0685/h = 6.1 h

     You come back in 5 min: leave it running. Keep 5 min x $3.4828/h = $0.29; stop
     5 min x $0.0685/h + $0.58 = $0.59: keep saves $0.30.
    ");
}

#[test]
fn every_doubt_is_a_line() {
    insta::assert_snapshot!(screen("--restart-probability 0.7 --resume-minutes 5 --retry-cost 0.10 --hours-per-month 720"), @r"
    8x RTX 4090 · 250 GB · rates measured 2026-07-31

     state         $/h  $/day  what you keep
     running    3.4828  83.59  everything
     stopped    0.0694   1.67  the disk; GPUs are released, nobody reserves them
     destroyed  0.0000   0.00  what was pushed

     stopped    250 GB x $0.20 / 720 h = $0.0694/h
     rebuild    15 min x $3.4828/h + 43 GB x $0.003/GB = $1.00
     resume     5 min x $3.4828/h = $0.29
     kept disk  0.7 x ($1.00 - $0.29) - 0.3 x $0.10 = $0.47
     break-even $0.47 / $0.0694/h = 6.7 h

     You did not say when you come back: stop now, destroy after 6.7 h. If you do
     come back, never more than twice the best choice; if you never do, $0.47 at
     most is lost.
    ");
    insta::assert_snapshot!(screen("--restart-probability 0 --disk 500"), @r"
    8x RTX 4090 · 500 GB · rates measured 2026-07-31

     state         $/h  $/day  what you keep
     running    3.4828  83.59  everything
     stopped    0.1370   3.29  the disk; GPUs are released, nobody reserves them
     destroyed  0.0000   0.00  what was pushed

     stopped    500 GB x $0.20 / 730 h = $0.1370/h
                (by the 720 h month that box was billed by: $0.1389/h)
     rebuild    15 min x $3.4828/h + 43 GB x $0.003/GB = $1.00
     kept disk  0 x $1.00 = $0.00
     break-even none: a kept disk is worth nothing

     You did not say when you come back: destroy now. A kept disk is worth 0 x $1.00
     = $0.00: nothing to pay for.
    ");
    insta::assert_snapshot!(screen("--storage-price 0 --running 1.20"), @r"
    250 GB · running rate as given

     state         $/h  $/day  what you keep
     running    1.2000  28.80  everything
     stopped    0.0000   0.00  the disk; GPUs are released, nobody reserves them
     destroyed  0.0000   0.00  what was pushed

     stopped    250 GB x $0.00 / 730 h = $0.0000/h
     rebuild    15 min x $1.2000/h + 43 GB x $0.003/GB = $0.43
     break-even never: the stopped disk costs nothing

     You did not say when you come back: stop. The stopped disk costs nothing: keep
     it stopped.
    ");
}

#[test]
fn other_boxes_come_from_the_price_book_with_their_date() {
    insta::assert_snapshot!(screen("--gpu h100-sxmx8 --disk 500"), @r"
    8x H100 SXM · 500 GB · vast, listed 2026-10-19
    Stale: these prices are 43 days old and move daily; --running takes today's.

     state          $/h   $/day  what you keep
     running    19.3370  464.09  everything
     stopped     0.1370    3.29  the disk; GPUs are released, nobody reserves them
     destroyed   0.0000    0.00  what was pushed

     running    $19.2000/h + 500 GB x $0.20 / 730 h = $19.3370/h
     stopped    500 GB x $0.20 / 730 h = $0.1370/h
     rebuild    15 min x $19.3370/h + 43 GB x $0.003/GB = $4.96
     break-even $4.96 / $0.1370/h = 36.2 h

     You did not say when you come back: stop now, destroy after 36.2 h. If you do
     come back, never more than twice the best choice; if you never do, $4.96 at
     most is lost.

     help: --away 10h, or --back-at, decides now; --restart-probability 0.7 counts
     the risk that the GPUs are gone (25.4 h)
    ");
    insta::assert_snapshot!(screen("--gpu h100-sxmx8 --provider lambda"), @r"
    8x H100 SXM · 250 GB · lambda, listed 2026-09-25
    Stale: these prices are 67 days old and move daily; --running takes today's.

     state          $/h   $/day  what you keep
     running    31.9200  766.08  everything
     stopped          –       –  there is no stop here
     destroyed   0.0000    0.00  what was pushed

     rebuild    15 min x $31.9200/h = $7.98

     You did not say when you come back: destroy now. There is no stop here, and
     running on costs $31.9200/h; a rebuild costs $7.98.
    ");
    insta::assert_snapshot!(screen("--gpu a100-80x2 --provider runpod --inbound-price 0.01"), @r"
    2x A100 80 GB PCIe · 250 GB · runpod community, listed 2026-11-09

     state         $/h  $/day  what you keep
     running    2.4142  57.94  everything
     stopped    0.0685   1.64  the volume; the box's own disk is wiped
     destroyed  0.0000   0.00  what was pushed

     running    $2.3800/h + 250 GB x $0.10 / 730 h = $2.4142/h
     stopped    250 GB x $0.20 / 730 h = $0.0685/h
     rebuild    15 min x $2.4142/h + 43 GB x $0.01/GB = $1.03
     resume     15 min x $2.4142/h = $0.60
     kept disk  $1.03 - $0.60 = $0.43
     break-even $0.43 / $0.0685/h = 6.3 h

     You did not say when you come back: stop now, destroy after 6.3 h. If you do
     come back, never more than twice the best choice; if you never do, $0.43 at
     most is lost.

     help: --away 10h, or --back-at, decides now; --restart-probability 0.7 counts
     the risk that the GPUs are gone (4.4 h)
    ");
}

#[test]
fn every_line_fits_eighty_columns() {
    for flags in [
        "",
        "--gpu h100-sxmx8 --provider lambda",
        "--gpu b300x8 --resume-minutes 5 --retry-cost 1 --restart-probability 0.5",
    ] {
        for line in screen(flags).lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}

#[test]
fn a_named_provider_brings_its_own_month() {
    let month = |flags: &str| inputs(flags).map(|inputs| inputs.card.hours_per_month.to_string());
    assert_eq!(month(""), Ok("730 h".into()));
    assert_eq!(month("--provider vast"), Ok("720 h".into()));
    assert_eq!(
        month("--provider vast --hours-per-month 744"),
        Ok("744 h".into())
    );
}

#[test]
fn wrong_numbers_are_refused_before_anything_is_computed() {
    let cases = [
        ("--running -1", "`-1` is negative"),
        ("--hours-per-month 0", "between 1 and 10,000"),
        (
            "--restart-probability 1.5",
            "between 0 (never) and 1 (certain)",
        ),
        (
            "--setup-minutes -4",
            "a number of minutes can't be less than zero",
        ),
        ("--setup-minutes soon", "write it like `15`, or `1.5h`"),
        ("--disk lots", "write it like `250`"),
        ("--disk 99999999999", "below 1,000,000,000"),
        ("--away tomorrow", "10h, 90min or 1d12h"),
        ("--back-at tomorrow", "write it like `2026-12-05T08:00`"),
        ("--back-at 2026-11-30T08:00Z", "lies in the past"),
        (
            "--away 10h --back-at 2026-12-05T08:00Z",
            "cannot be used with",
        ),
        (
            "3f --away 10h",
            "the argument '[RUN]' cannot be used with '--away <TIME>'",
        ),
        (
            "3f --disk 80",
            "the argument '[RUN]' cannot be used with '--disk <GB>'",
        ),
        ("--gpu 4900x8", "did you mean `4090x8`?"),
        ("--gpu gh200", "aarch64"),
        ("--gpu 3090", "--running 1.20"),
        (
            "--gpu 4090 --provider lambda",
            "it has one from runpod, beam, vast",
        ),
        ("--provider azure", "beam, lambda, modal, runpod, vast"),
    ];
    for (flags, expected) in cases {
        let error = inputs(flags)
            .err()
            .unwrap_or_else(|| panic!("{flags} was taken"));
        assert!(error.contains(expected), "{flags}: {error}");
    }
}

#[test]
fn a_time_without_an_offset_is_local() {
    let local: DateTime<Local> = "2026-12-01T18:00:00Z"
        .parse::<DateTime<Utc>>()
        .expect("a time")
        .into();
    let gap = |text: &str| inputs(&format!("--back-at {text}")).map(|inputs| inputs.gap);
    let ten_hours = Ok(Some(Hours::new(Decimal::from(10))));
    assert_eq!(gap(&local.format("%FT%H:%M").to_string()), ten_hours);
    assert_eq!(gap("2026-12-01T20:00+02:00"), ten_hours);
    assert_eq!(gap("2026-12-01T18:00:00Z"), ten_hours);
}
