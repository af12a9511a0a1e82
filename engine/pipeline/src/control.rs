//! Names of the control plane.

/// Place of a name in a list of full control-plane names: the full name itself, else the only one that ends in
/// `.name`. `None` if there is no such name, or several end that way.
pub fn lookup_name<'a>(names: impl Iterator<Item = &'a str> + Clone, name: &str) -> Option<usize> {
    if let Some(exact) = names.clone().position(|known| known == name) {
        return Some(exact);
    }
    let mut suffixed =
        names.enumerate().filter(|(_, known)| known.strip_suffix(name).is_some_and(|prefix| prefix.ends_with('.')));
    match (suffixed.next(), suffixed.next()) {
        (Some((at, _)), None) => Some(at),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suffix_must_be_unique_and_whole() {
        let names = ["MyIngress.fwd.lpm", "MyEgress.lpm", "MyEgress.marks"];
        let find = |name| lookup_name(names.iter().copied(), name);
        assert_eq!(find("MyEgress.lpm"), Some(1));
        assert_eq!(find("marks"), Some(2));
        assert_eq!(find("fwd.lpm"), Some(0));
        assert_eq!(find("lpm"), None);
        assert_eq!(find("arks"), None);
        assert_eq!(find("other"), None);
    }
}
