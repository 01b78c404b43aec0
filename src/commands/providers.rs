use crate::error::Result;
use crate::exit_code::ExitCode;
use crate::observe::{self, AccountState};
use crate::settings::Settings;
use crate::shell::{self, block_on};
use crate::ui::{Column, Ui, format, table};
use chrono::Utc;
use gpurun_pricing::price_book::PriceBook;
use gpurun_pricing::rate_card::STALE_AFTER_DAYS;
use gpurun_pricing::{HourlyRate, Money, StopSupport};
use gpurun_providers::{Capabilities, Provider, VolumeSupport};
use serde::Serialize;

/// Show who can be rented from: where each key was found, whether it opens the account, what is left on it
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

#[derive(Serialize)]
struct Document {
    providers: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    name: String,
    /// Where the key was found; `null`: none was, or none is needed.
    key: Option<String>,
    /// `ok`, or why the account can't be read; `null` where nobody asked.
    account: Option<String>,
    account_id: Option<String>,
    #[serde(serialize_with = "money_or_null")]
    balance: Option<Money>,
    #[serde(serialize_with = "format::rate_or_null")]
    burn_per_hour: Option<HourlyRate>,
    #[serde(serialize_with = "format::rate_or_null")]
    spend_limit_per_hour: Option<HourlyRate>,
    /// What it can do; `null` where this version doesn't rent there.
    can: Option<Vec<&'static str>>,
    /// Where planning without its own offers takes prices from, and how old they are.
    prices: String,
    /// What to do about a missing key.
    missing: Option<String>,
}

impl Args {
    pub(crate) fn run(self, ui: &Ui) -> Result<ExitCode> {
        let settings = shell::settings()?;
        let providers = shell::providers(&settings);
        let asked: Vec<&dyn Provider> = providers.iter().map(AsRef::as_ref).collect();
        let accounts = block_on(observe::accounts(&asked));
        let mut rows: Vec<Row> = asked
            .iter()
            .zip(accounts)
            .map(|(provider, account)| rented_from(*provider, account, &settings))
            .collect();
        rows.extend(others(&settings, &asked));
        let broken = rows
            .iter()
            .any(|row| row.account.as_deref().is_some_and(|word| word != "ok"));
        if ui.json {
            ui.json(&Document { providers: rows });
        } else {
            show(ui, &rows);
        }
        Ok(match broken {
            true => ExitCode::Provider,
            false => ExitCode::Success,
        })
    }
}

fn rented_from(provider: &dyn Provider, account: AccountState, settings: &Settings) -> Row {
    let name = provider.name();
    let (word, account) = match account {
        Ok(account) => ("ok".to_owned(), account),
        Err(why) => (why, gpurun_providers::Account::default()),
    };
    let key = settings.credential(name);
    Row {
        name: name.to_owned(),
        key: key.map(|found| found.place.to_string()),
        account: Some(word),
        account_id: account.id,
        balance: account.balance,
        burn_per_hour: account.burn,
        spend_limit_per_hour: account.spend_limit,
        can: Some(abilities(provider.capabilities())),
        prices: match name {
            "local" => settings.local.source.clone(),
            _ => format!("its own offers; {}", book(name)),
        },
        missing: None,
    }
}

/// Those with a key that nobody here can use yet, and those without one.
fn others(settings: &Settings, asked: &[&dyn Provider]) -> Vec<Row> {
    let row = |name: &str| Row {
        name: name.to_owned(),
        key: None,
        account: None,
        account_id: None,
        balance: None,
        burn_per_hour: None,
        spend_limit_per_hour: None,
        can: None,
        prices: book(name),
        missing: None,
    };
    let without = settings.clouds_without_key().map(|cloud| Row {
        missing: Some(cloud.where_the_key_goes()),
        ..row(cloud.name)
    });
    let unused = settings
        .credentials
        .iter()
        .filter(|found| asked.iter().all(|known| known.name() != found.cloud))
        .map(|found| Row {
            key: Some(found.place.to_string()),
            missing: Some("this version doesn't rent there".to_owned()),
            ..row(found.cloud)
        });
    unused.chain(without).collect()
}

fn abilities(can: Capabilities) -> Vec<&'static str> {
    let stop = match can.stop {
        StopSupport::None => None,
        StopSupport::KeepsDisk => Some("stop"),
        StopSupport::KeepsVolumeOnly => Some("stop, keeping volumes"),
    };
    let volumes = match can.volumes {
        VolumeSupport::None => None,
        VolumeSupport::Network => Some("volumes"),
        VolumeSupport::HostLocal => Some("volumes on one machine"),
    };
    let spot = can.interruptible.then_some("spot");
    [stop, volumes, spot].into_iter().flatten().collect()
}

fn book(name: &str) -> String {
    let newest = PriceBook::embedded().newest(name);
    let Some(as_of) = newest else {
        return "no list prices".to_owned();
    };
    let age = Utc::now()
        .date_naive()
        .signed_duration_since(as_of)
        .num_days();
    let stale = match age > STALE_AFTER_DAYS {
        true => ", stale",
        false => "",
    };
    format!("price book of {as_of} ({age} days old{stale})")
}

fn show(ui: &Ui, rows: &[Row]) {
    let dash = || "–".to_owned();
    let cells = rows
        .iter()
        .map(|row| {
            let key = match (&row.key, row.name.as_str()) {
                (Some(place), _) => place.clone(),
                (None, "local") => "none needed".to_owned(),
                (None, _) => "missing".to_owned(),
            };
            let can = row.can.as_ref().filter(|can| !can.is_empty());
            vec![
                row.name.clone(),
                key,
                match row.account.as_deref() {
                    Some("ok") => "ok".to_owned(),
                    Some(_) => "fails".to_owned(),
                    None => dash(),
                },
                row.balance.map_or_else(dash, |balance| balance.figure()),
                can.map_or_else(dash, |can| can.join(", ")),
            ]
        })
        .collect();
    ui.data(&table(
        &[
            Column::Text("provider"),
            Column::Text("key"),
            Column::Text("account"),
            Column::Number("$ left"),
            Column::Text("can"),
        ],
        cells,
    ));
    for row in rows {
        match (&row.account, &row.missing) {
            (Some(word), _) if word != "ok" => ui.talk(&format!(" ! {word}")),
            (_, Some(missing)) => ui.talk(&format!(" {:<8} {missing}", row.name)),
            _ => ui.talk(&format!(" {:<8} prices: {}", row.name, row.prices)),
        }
    }
}

fn money_or_null<S: serde::Serializer>(
    money: &Option<Money>,
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    match money {
        Some(money) => format::money(money, serializer),
        None => serializer.serialize_none(),
    }
}
