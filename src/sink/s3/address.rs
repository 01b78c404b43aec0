//! `s3://bucket/prefix`.

use crate::sink::SinkError;

/// A place in a bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) bucket: String,
    /// Without slashes at its ends; empty for the bucket's root.
    pub(crate) prefix: String,
}

/// How such an address begins.
pub(crate) const SCHEME: &str = "s3://";

impl Address {
    /// Reads one.
    ///
    /// # Errors
    /// [`SinkError::Address`] where it names no bucket, or what no bucket can be called (Amazon S3 User Guide, "Bucket naming
    /// rules").
    pub(crate) fn parse(text: &str) -> Result<Self, SinkError> {
        let wrong = || SinkError::Address {
            text: text.to_owned(),
        };
        let rest = text.strip_prefix(SCHEME).ok_or_else(wrong)?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let allowed = |letter: char| {
            letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-.".contains(letter)
        };
        let ends_well = |text: &str| {
            let mut ends = text
                .chars()
                .next()
                .into_iter()
                .chain(text.chars().next_back());
            ends.all(|letter| letter.is_ascii_alphanumeric())
        };
        if !(3..=63).contains(&bucket.len()) || !bucket.chars().all(allowed) || !ends_well(bucket) {
            return Err(wrong());
        }
        let parts: Vec<&str> = prefix.split('/').filter(|part| !part.is_empty()).collect();
        if parts.iter().any(|part| [".", ".."].contains(part)) {
            return Err(wrong());
        }
        Ok(Self {
            bucket: bucket.to_owned(),
            prefix: parts.join("/"),
        })
    }

    /// The same place, one folder further down.
    pub(crate) fn folder(&self, name: &str) -> Self {
        let prefix = match self.prefix.as_str() {
            "" => name.to_owned(),
            prefix => format!("{prefix}/{name}"),
        };
        Self {
            bucket: self.bucket.clone(),
            prefix,
        }
    }

    /// The key of a file there.
    pub(crate) fn key(&self, name: &str) -> String {
        self.folder(name).prefix
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let slash = if self.prefix.is_empty() { "" } else { "/" };
        write!(f, "{SCHEME}{}{slash}{}", self.bucket, self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_bucket_and_a_folder() {
        let parsed = |text| Address::parse(text).map(|address| address.to_string()).ok();
        assert_eq!(parsed("s3://weights").as_deref(), Some("s3://weights"));
        assert_eq!(
            parsed("s3://my-weights//runs/").as_deref(),
            Some("s3://my-weights/runs")
        );
        for wrong in [
            "s3://",
            "s3:///runs",
            "s3://We",
            "s3://a_b/c",
            "s3://abc/../d",
            "s4://abc",
        ] {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
        let folder = Address::parse("s3://weights/runs")
            .unwrap()
            .folder("cells-3f");
        assert_eq!(folder.key("best.pt"), "runs/cells-3f/best.pt");
    }
}
