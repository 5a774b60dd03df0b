//! `[forcefield] include = "elba"`: species, molecules and forces of a published set, or of a file, beside those of the
//! input.
//!
//! A set is itself the text of an input file. What the input says wins: keys of `[species.X]` one by one, molecules and
//! other sections as a whole; `[[forces]]` of both act.

use std::path::Path;

use super::error::{InputError, Source};
use super::reader::{Item, Node};

type Result<T> = std::result::Result<T, InputError>;

/// Published sets by their names.
pub const SETS: &[(&str, &str)] = &[
    ("elba", include_str!("sets/elba.toml")),
    ("ssd", include_str!("sets/ssd.toml")),
    ("ssd1", include_str!("sets/ssd1.toml")),
    ("ssd-e", include_str!("sets/ssd-e.toml")),
    ("ssd-rf", include_str!("sets/ssd-rf.toml")),
];

const KEYS: &[&str] = &["include"];
/// What a set may hold.
const SET_KEYS: &[&str] = &["units", "species", "molecules", "forces", "exclusions"];

/// Adds what the file includes to it.
pub(super) fn apply(source: &mut Source, node: &mut Node, folder: &Path) -> Result<()> {
    let wanted = wanted(&Item::root(source, node), folder)?;
    let mut declared: Vec<(String, String)> = Vec::new();
    for (name, text) in wanted {
        let start = source.append(name.clone(), &text);
        let set = Node::parse_part(source, start)?;
        let root = Item::root(source, &set);
        root.section("the included file", SET_KEYS)?;
        let species = root.entries()?.into_iter().find(|(key, _)| *key == "species");
        for (species, item) in species
            .map(|(_, item)| item.entries())
            .transpose()?
            .unwrap_or_default()
        {
            if let Some((_, other)) = declared.iter().find(|(known, _)| known == species) {
                return Err(item
                    .error(format!("declares the species `{species}`, which {other} declares too"))
                    .expected("sets without a species in common: the terms of both would act on it")
                    .help("write the species and the terms of a mixture into a file of your own and include that"));
            }
            declared.push((species.to_owned(), name.clone()));
        }
        node.include(set);
    }
    Ok(())
}

/// Names and texts of the sets.
fn wanted(root: &Item, folder: &Path) -> Result<Vec<(String, String)>> {
    let Some((_, section)) = root.entries()?.into_iter().find(|(key, _)| *key == "forcefield") else {
        return Ok(Vec::new());
    };
    let section = section.section("[forcefield]", KEYS)?;
    let Some(include) = section.get("include") else {
        return Ok(Vec::new());
    };
    include
        .one_or_many()
        .iter()
        .map(|item| load(item, folder))
        .collect()
}

fn load(item: &Item, folder: &Path) -> Result<(String, String)> {
    let name = item.file_name()?;
    if let Some((name, text)) = SETS.iter().find(|(set, _)| *set == name) {
        return Ok((format!("{name} (published set)"), (*text).to_owned()));
    }
    let path = folder.join(name);
    let names: Vec<&str> = SETS.iter().map(|(name, _)| *name).collect();
    if !name.ends_with(".toml") {
        return Err(item.unknown("force field", &names));
    }
    let text = std::fs::read_to_string(&path).map_err(|e| {
        item.error(format!("names {}, which cannot be read: {e}", path.display()))
            .expected("a file of species and forces, or the name of a published set")
            .help(format!(
                "published sets are: {}; paths are relative to the folder of the input file",
                names.join(", ")
            ))
    })?;
    Ok((path.display().to_string(), text))
}
