//! Built-in aliases of PowerShell: what each name represents.

/// Cmdlets, their aliases on every system, and those that only Windows has.
const ALIASES: &[(&str, &str, &str)] = rows! {
    "Remove-Item", "ri del rd erase", "rm rmdir";
    "Get-ChildItem", "gci dir", "ls";
    "Get-Content", "gc type", "cat";
    "Copy-Item", "cpi copy", "cp";
    "Move-Item", "mi move", "mv";
    "Rename-Item", "rni ren", "";
    "New-Item", "ni md mkdir", "";
    "Get-Item", "gi", "";
    "Set-Item", "si", "";
    "Clear-Item", "cli", "";
    "Set-ItemProperty", "sp", "";
    "Remove-ItemProperty", "rp", "";
    "Set-Content", "", "sc";
    "Add-Content", "", "ac";
    "Clear-Content", "clc", "";
    "Set-Location", "sl cd chdir", "";
    "Push-Location", "pushd", "";
    "Pop-Location", "popd", "";
    "Get-Location", "gl pwd", "";
    "Invoke-Expression", "iex", "";
    "Invoke-Command", "icm", "";
    "Invoke-WebRequest", "iwr", "curl wget";
    "Invoke-RestMethod", "irm", "";
    "Invoke-Item", "ii", "";
    "Invoke-History", "r ihy", "";
    "Start-Job", "sajb", "";
    "Start-Process", "saps", "start";
    "Stop-Process", "spps kill", "";
    "Get-Process", "gps", "ps";
    "Start-Service", "", "sasv";
    "Stop-Service", "", "spsv";
    "Get-Service", "", "gsv";
    "ForEach-Object", "% foreach", "";
    "Where-Object", "? where", "";
    "Select-Object", "select", "";
    "Select-String", "sls", "";
    "Sort-Object", "", "sort";
    "Group-Object", "group", "";
    "Measure-Object", "measure", "";
    "Compare-Object", "", "compare diff";
    "Tee-Object", "", "tee";
    "Write-Output", "echo", "write";
    "Format-Table", "ft", "";
    "Format-List", "fl", "";
    "Start-Sleep", "", "sleep";
    "Clear-Host", "clear cls", "";
    "Set-Alias", "sal", "";
    "New-Alias", "nal", "";
    "Set-Variable", "sv set", "";
    "Get-Variable", "gv", "";
    "Get-Command", "gcm", "";
    "Get-Member", "gm", "";
    "Import-Module", "ipmo", "";
    "Enter-PSSession", "etsn", "";
    "New-PSSession", "nsn", "";
    "Get-History", "h history ghy", "";
};

/// The cmdlet that a name represents. `windows`: with the aliases that only Windows has.
pub(crate) fn cmdlet(name: &str, windows: bool) -> Option<&'static str> {
    let is = |known: &str| known.eq_ignore_ascii_case(name);
    let row = ALIASES.iter().find(|(cmdlet, all, only)| {
        is(cmdlet) || all.split(' ').any(is) || (windows && only.split(' ').any(is))
    });
    row.filter(|_| !name.is_empty()).map(|(cmdlet, ..)| *cmdlet)
}
