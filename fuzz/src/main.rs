//! Under `--cfg fuzzing` libFuzzer's program, for the target that `POSTONCE_FUZZ_TARGET` names; else it writes the
//! seeds of every target into a folder. `npm run fuzz` uses both.
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
mod search {
    use std::sync::OnceLock;

    static TARGET: OnceLock<&'static postonce_fuzz::Target> = OnceLock::new();

    fn chosen() -> &'static postonce_fuzz::Target {
        let name = std::env::var("POSTONCE_FUZZ_TARGET").unwrap_or_default();
        postonce_fuzz::target(&name).unwrap_or_else(|| {
            eprintln!("POSTONCE_FUZZ_TARGET names no target: `{name}`");
            std::process::exit(2)
        })
    }

    libfuzzer_sys::fuzz_target!(|data: &[u8]| (TARGET.get_or_init(chosen).run)(data));
}

#[cfg(not(fuzzing))]
fn main() -> std::io::Result<()> {
    let folder = std::path::PathBuf::from(std::env::args_os().nth(1).ok_or(std::io::ErrorKind::InvalidInput)?);
    for target in postonce_fuzz::TARGETS {
        let folder = folder.join(target.name);
        std::fs::create_dir_all(&folder)?;
        for (number, seed) in postonce_fuzz::seeds(target.name).iter().enumerate() {
            std::fs::write(folder.join(format!("seed-{number:03}")), seed)?;
        }
    }
    Ok(())
}
