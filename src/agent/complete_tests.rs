use super::*;
use std::io::Write;

fn crc_free_entry(name: &[u8], data: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let (size, length) = (le(data.len(), 4), le(name.len(), 2));
    let mut local = b"PK\x03\x04".to_vec();
    local.extend([0; 14]);
    local.extend(size.iter().chain(&size).chain(&length));
    local.extend([0; 2]);
    local.extend(name.iter().chain(data));
    let mut central = b"PK\x01\x02".to_vec();
    central.extend([0; 16]);
    central.extend(size.iter().chain(&size).chain(&length));
    central.extend([0; 12]);
    (local, central)
}

fn le(value: usize, bytes: usize) -> Vec<u8> {
    value.to_le_bytes()[..bytes].to_vec()
}

/// Which end records an archive has.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Form {
    /// The 32-bit one.
    Narrow,
    /// The 64-bit ones too, and the numbers only there.
    Wide,
    /// Both with all numbers, as PyTorch writes them.
    Both,
}

/// An archive of stored entries.
fn archive(entries: &[(&str, &[u8])], form: Form) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for (name, data) in entries {
        let (local, central) = crc_free_entry(name.as_bytes(), data);
        directory.extend(central);
        directory.extend(le(file.len(), 4));
        directory.extend(name.as_bytes());
        file.extend(local);
    }
    let offset = file.len();
    let size = directory.len();
    file.extend(directory);
    if form != Form::Narrow {
        let end64 = file.len();
        file.extend(b"PK\x06\x06");
        file.extend(le(44, 8));
        file.extend([0; 12]);
        for value in [entries.len(), entries.len(), size, offset] {
            file.extend(le(value, 8));
        }
        file.extend(b"PK\x06\x07\0\0\0\0");
        file.extend(le(end64, 8));
        file.extend([1, 0, 0, 0]);
    }
    file.extend(b"PK\x05\x06\0\0\0\0");
    if form == Form::Wide {
        file.extend([0xff; 12]);
    } else {
        file.extend(le(entries.len(), 2));
        file.extend(le(entries.len(), 2));
        file.extend(le(size, 4).iter().chain(&le(offset, 4)));
    }
    file.extend([0; 2]);
    file
}

fn complete(name: &str, content: &[u8]) -> Option<bool> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(content).unwrap();
    is_complete(name, file.path()).unwrap()
}

#[test]
fn a_whole_archive_is_complete_and_none_of_its_beginnings_is() {
    for form in [Form::Narrow, Form::Wide, Form::Both] {
        let whole = archive(&[("a/data.pkl", b"12345"), ("a/data/0", &[7; 300])], form);
        assert_eq!(complete("best.pt", &whole), Some(true), "{form:?}");
        for length in 0..whole.len() {
            assert_eq!(
                complete("best.pt", &whole[..length]),
                Some(false),
                "{length}"
            );
        }
    }
}

#[test]
fn a_new_beginning_over_an_old_end_is_not_complete() {
    let old = archive(
        &[("a/data.pkl", &[1; 50]), ("a/data/0", &[7; 900])],
        Form::Narrow,
    );
    let mut torn = old.clone();
    torn[..300].fill(0);
    assert_eq!(complete("best.pt", &torn), Some(false));
}

#[test]
fn a_directory_that_lies_is_not_complete() {
    let whole = archive(&[("a", b"1")], Form::Narrow);
    let end = whole.len();
    for (at, what) in [
        (end - 12, "entries"),
        (end - 10, "size"),
        (end - 6, "offset"),
    ] {
        let mut lying = whole.clone();
        lying[at] = lying[at].wrapping_add(1);
        assert_eq!(complete("best.pt", &lying), Some(false), "{what}");
    }
}

#[test]
fn safetensors_end_where_their_header_says() {
    let header = br#"{"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}"#;
    let mut whole = le(header.len(), 8);
    whole.extend(header);
    whole.extend([1, 2, 3, 4]);
    assert_eq!(complete("m.safetensors", &whole), Some(true));
    for length in 0..whole.len() {
        assert_eq!(complete("m.safetensors", &whole[..length]), Some(false));
    }
}

#[test]
fn other_formats_say_nothing() {
    assert_eq!(complete("model.onnx", b"anything"), None);
    assert!(!proves_itself("status.json"));
}
