//! [`Register`]: what there is of one kind, with what other crates add.

use std::sync::{PoisonError, RwLock};

/// What a register holds: something with a name of its own.
pub trait Registered {
    /// The name it is found by.
    fn registered_name(&self) -> &str;
}

/// All of one kind: those that were there from the beginning, in their order, then those that were added.
#[derive(Debug)]
pub struct Register<T: ?Sized + 'static> {
    built_in: &'static [&'static T],
    added: RwLock<Vec<&'static T>>,
}

/// An entry was refused: another one has its name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is a `{0}` in the register already; give yours another name")]
pub struct NameTaken(pub String);

impl<T: Registered + ?Sized> Register<T> {
    /// A register of these.
    pub const fn new(built_in: &'static [&'static T]) -> Self {
        Self {
            built_in,
            added: RwLock::new(Vec::new()),
        }
    }

    /// Adds an entry for as long as the program runs.
    ///
    /// # Errors
    /// [`NameTaken`] where there is one of that name.
    pub fn add(&self, entry: &'static T) -> Result<(), NameTaken> {
        let mut added = self.added.write().unwrap_or_else(PoisonError::into_inner);
        let mut all = self.built_in.iter().chain(added.iter());
        if all.any(|e| e.registered_name() == entry.registered_name()) {
            return Err(NameTaken(entry.registered_name().to_owned()));
        }
        added.push(entry);
        Ok(())
    }

    /// The entry of this name.
    pub fn find(&self, name: &str) -> Option<&'static T> {
        self.iter().find(|e| e.registered_name() == name)
    }

    /// Whether there is an entry of this name.
    pub fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }
}

impl<T: ?Sized> Register<T> {
    /// All entries there are now.
    pub fn iter(&self) -> Entries<T> {
        let added = self.added.read().unwrap_or_else(PoisonError::into_inner);
        let more = added.clone();
        self.built_in.iter().copied().chain(more)
    }
}

/// The entries of a [`Register`].
pub type Entries<T> = std::iter::Chain<
    std::iter::Copied<std::slice::Iter<'static, &'static T>>,
    std::vec::IntoIter<&'static T>,
>;

impl<T: ?Sized> IntoIterator for &Register<T> {
    type Item = &'static T;
    type IntoIter = Entries<T>;

    fn into_iter(self) -> Entries<T> {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Registered for str {
        fn registered_name(&self) -> &str {
            self
        }
    }

    #[test]
    fn entries_are_added_once() {
        static COLORS: Register<str> = Register::new(&["red", "green"]);
        COLORS.add("blue").unwrap();
        assert_eq!(COLORS.iter().collect::<Vec<_>>(), ["red", "green", "blue"]);
        assert!(COLORS.has("blue") && !COLORS.has("black"));
        for taken in ["red", "blue"] {
            assert_eq!(COLORS.add(taken), Err(NameTaken(taken.into())));
        }
    }
}
