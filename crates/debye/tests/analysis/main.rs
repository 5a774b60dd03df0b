//! Analyses, and what is drawn and told of them.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod closed_forms;
mod membranes;
mod pictures;
mod report;
mod state;

/// Every tag closed, in order; no stray ampersands.
fn assert_well_formed(xml: &str) {
    let mut open = Vec::new();
    let mut rest = xml;
    while let Some(start) = rest.find('<') {
        let end = start + rest[start..].find('>').expect("an unclosed tag");
        let tag = &rest[start + 1..end];
        assert!(!tag.contains('<'), "{tag}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.ends_with('/') {
            open.push(tag.split_whitespace().next().unwrap());
        }
        rest = &rest[end + 1..];
    }
    assert!(open.is_empty(), "{open:?} left open");
    for (at, _) in xml.match_indices('&') {
        let known = ["&amp;", "&lt;", "&gt;", "&quot;", "&#39;"];
        assert!(
            known.iter().any(|e| xml[at..].starts_with(e)),
            "{}",
            &xml[at..at + 8]
        );
    }
}
