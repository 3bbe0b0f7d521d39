//! Paths and ranges of addresses.

/// What contains it and more: the folder's other files, or the folder above. None where nothing is left to widen.
pub(super) fn wider(text: &str) -> Option<String> {
    if let Some((address, bits)) = text.rsplit_once('/')
        && address.parse::<std::net::IpAddr>().is_ok()
    {
        let bits: u32 = bits.parse().ok()?;
        return (bits > 8).then(|| format!("{address}/{}", bits - 8));
    }
    let (folder, _) = text.trim_end_matches(['/', '*']).rsplit_once('/')?;
    // `/srv/*`, never `/*`.
    let named = folder.trim_start_matches(['/', '.', '~']);
    (!named.is_empty() && !folder.ends_with(':') && !folder.ends_with(":/"))
        .then(|| format!("{folder}/*"))
}
