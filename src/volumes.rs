//! Disks that outlive boxes, of every account: what they are, and what they cost whether anybody uses them or not.

use crate::observe;
use crate::shell::Shell;
use crate::ui::format;
use gpurun_lifecycle::{Phase, RunRecord};
use gpurun_pricing::{Gigabytes, HourlyRate};
use gpurun_providers::{Provider, Volume};
use serde::Serialize;

/// All that were found, and who couldn't be asked.
#[derive(Debug, Default, Serialize)]
pub(crate) struct VolumeList {
    pub(crate) volumes: Vec<VolumeRow>,
    /// Providers whose volumes couldn't be read, and why: what they hold is unknown.
    pub(crate) unread: Vec<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct VolumeRow {
    pub(crate) provider: String,
    pub(crate) id: String,
    pub(crate) name: Option<String>,
    /// The region or machine it is bound to.
    pub(crate) place: Option<String>,
    /// In GB.
    pub(crate) size: Option<Gigabytes>,
    /// Boxes that have it mounted, where the provider says so.
    pub(crate) attached_to: Vec<String>,
    #[serde(serialize_with = "format::rate_or_null")]
    pub(crate) burn_per_hour: Option<HourlyRate>,
}

/// Asks every provider that has any.
pub(crate) async fn list(shell: &Shell) -> VolumeList {
    let providers: Vec<&dyn Provider> = shell.providers.iter().map(AsRef::as_ref).collect();
    let (found, unread) = observe::volumes(&providers).await;
    VolumeList {
        volumes: found.into_iter().map(row).collect(),
        unread: unread.iter().map(ToString::to_string).collect(),
    }
}

fn row((provider, volume): (&'static str, Volume)) -> VolumeRow {
    VolumeRow {
        provider: provider.to_owned(),
        id: volume.id,
        name: volume.name,
        place: volume.place,
        size: volume.size,
        attached_to: volume.attached_to,
        burn_per_hour: volume.price,
    }
}

impl VolumeList {
    /// Those that no box has mounted and no open run means to.
    pub(crate) fn idle(self, runs: &[RunRecord]) -> Self {
        let open = runs.iter().filter(|run| run.phase != Phase::Ended);
        let wanted: Vec<&str> = open
            .filter_map(|run| run.spec.volume.as_ref())
            .map(|volume| volume.id.as_str())
            .collect();
        let mut volumes = self.volumes;
        volumes.retain(|volume| {
            volume.attached_to.is_empty() && !wanted.contains(&volume.id.as_str())
        });
        Self { volumes, ..self }
    }
}

impl VolumeRow {
    /// "vast 4711 (weights), 100 GB in m-7: $0.0139/h"
    pub(crate) fn line(&self) -> String {
        let or_empty = |part: Option<String>| part.unwrap_or_default();
        let name = or_empty(self.name.as_ref().map(|name| format!(" ({name})")));
        let size = or_empty(self.size.map(|size| format!(", {size}")));
        let place = or_empty(self.place.as_ref().map(|place| format!(" in {place}")));
        let used = match self.attached_to.as_slice() {
            [] => String::new(),
            boxes => format!(", mounted by {}", boxes.join(", ")),
        };
        let burn = self
            .burn_per_hour
            .map_or_else(|| "an unknown rate".to_owned(), |rate| rate.to_string());
        format!(
            "{} {}{name}{size}{place}{used}: {burn}",
            self.provider, self.id
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::fixtures::run;
    use gpurun_lifecycle::VolumeSpec;

    fn volume(id: &str, attached_to: &[&str]) -> VolumeRow {
        VolumeRow {
            provider: "lambda".to_owned(),
            id: id.to_owned(),
            name: Some("sets".to_owned()),
            place: Some("us-east-1".to_owned()),
            size: Some(Gigabytes::new(100.into())),
            attached_to: attached_to.iter().map(|id| (*id).to_owned()).collect(),
            burn_per_hour: None,
        }
    }

    #[test]
    fn idle_is_what_nobody_has_or_wants() {
        let mut wants = run("k3v9x2mq7d", "wants");
        wants.spec.volume = Some(VolumeSpec {
            id: "fs-1".to_owned(),
            path: "/data".to_owned(),
            rate: None,
        });
        let list = |volumes| VolumeList {
            volumes,
            unread: Vec::new(),
        };
        let all = || {
            list(vec![
                volume("fs-1", &[]),
                volume("fs-2", &["i-1"]),
                volume("fs-3", &[]),
            ])
        };
        let ids = |list: VolumeList| -> Vec<String> {
            list.volumes.into_iter().map(|volume| volume.id).collect()
        };
        assert_eq!(ids(all().idle(std::slice::from_ref(&wants))), ["fs-3"]);
        wants.phase = Phase::Ended;
        assert_eq!(ids(all().idle(&[wants])), ["fs-1", "fs-3"]);
        let line = volume("fs-2", &["i-1"]).line();
        assert_eq!(
            line,
            "lambda fs-2 (sets), 100 GB in us-east-1, mounted by i-1: an unknown rate"
        );
    }
}
