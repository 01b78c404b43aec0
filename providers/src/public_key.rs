//! Lines of OpenSSH's `authorized_keys`.

/// Whether both are of one key: type and base64, without the comment.
pub(crate) fn is_same(left: &str, right: &str) -> bool {
    left.split_whitespace()
        .take(2)
        .eq(right.split_whitespace().take(2))
}
