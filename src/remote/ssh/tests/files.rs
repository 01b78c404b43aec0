//! What is put there.

use super::*;

#[tokio::test]
async fn files_arrive_whole_or_not_at_all() -> Outcome {
    let Some(place) = place()? else {
        return Ok(());
    };
    let ssh = place.ssh();
    ssh.put_bytes(b"orders", "gpurun/agent.json").await?;
    let path = place.home("gpurun/agent.json");
    assert_eq!(fs::read(&path)?, b"orders");
    assert_eq!(fs::metadata(&path)?.permissions().mode() & 0o777, 0o600);
    ssh.put_bytes(b"", "gpurun/agent.json").await?;
    assert_eq!(fs::read(&path)?, b"");
    // As when the line goes dead in the middle: less arrives than was announced.
    let cut = ssh
        .put(&b"half an ord"[..], 20, "gpurun/agent.json", "600")
        .await;
    let cut = cut.err().ok_or("half a file was taken")?;
    assert!(cut.message.contains("only a part"), "{cut}");
    assert_eq!(fs::read(&path)?, b"");
    let left = fs::read_dir(place.home("gpurun"))?.count();
    assert_eq!(left, 1, "nothing temporary is left");
    fs::create_dir(place.home("taken"))?;
    let taken = ssh
        .put_bytes(b"", "taken")
        .await
        .err()
        .ok_or("it replaced a folder")?;
    assert!(taken.message.contains("a folder is in the way"), "{taken}");
    Ok(())
}

#[tokio::test]
async fn what_is_there_already_is_not_sent_again() -> Outcome {
    let Some(place) = place()? else {
        return Ok(());
    };
    let ssh = place.ssh();
    let here = tempfile::tempdir()?;
    let program = here.path().join("tool");
    fs::write(&program, "#!/bin/sh\necho one\n")?;
    ssh.put_program(&program, "bin/tool").await?;
    let inode = |path: &str| fs::metadata(place.home(path)).map(|file| file.ino());
    let first = inode("bin/tool")?;
    ssh.put_program(&program, "bin/tool").await?;
    assert_eq!(inode("bin/tool")?, first);
    fs::write(&program, "#!/bin/sh\necho two\n")?;
    ssh.put_program(&program, "bin/tool").await?;
    assert_eq!(stdout(&ssh, &Command::new(&["bin/tool"])).await?, "two\n");

    let library = here.path().join("lib");
    fs::create_dir_all(library.join("deep"))?;
    fs::write(library.join("one.so"), "one")?;
    fs::write(library.join("deep/it's two.so"), "two")?;
    std::os::unix::fs::symlink("one.so", library.join("one.so.1"))?;
    ssh.provide_folder(&library, "gpurun/libtorch/lib").await?;
    let kept = inode("gpurun/libtorch/lib/one.so")?;
    let read = |name: &str| fs::read_to_string(place.home("gpurun/libtorch/lib").join(name));
    assert_eq!(
        (read("one.so.1")?, read("deep/it's two.so")?),
        ("one".to_owned(), "two".to_owned())
    );
    fs::write(place.home("gpurun/libtorch/lib/deep/it's two.so"), "tw")?;
    ssh.provide_folder(&library, "gpurun/libtorch/lib").await?;
    assert_eq!(read("deep/it's two.so")?, "two", "half a file is replaced");
    assert_eq!(inode("gpurun/libtorch/lib/one.so")?, kept);
    Ok(())
}

#[tokio::test]
async fn a_file_of_many_parts_comes_here_as_it_is() -> Outcome {
    let Some(place) = place()? else {
        return Ok(());
    };
    let content: Vec<u8> = (0..4_300_000_u32).flat_map(u32::to_le_bytes).collect();
    fs::write(place.home("last.pt"), &content)?;
    let here = tempfile::tempdir()?;
    let to = here.path().join("file");
    let ssh = place.ssh();
    ssh.get_file("last.pt", &to).await?;
    assert_eq!(fs::read(&to)?.len(), content.len());
    assert!(fs::read(&to)? == content, "its bytes changed on the way");
    fs::write(place.home("empty"), "")?;
    ssh.get_file("empty", &to).await?;
    assert_eq!(fs::read(&to)?, b"");
    let missing = ssh.get_file("nonesuch", &to).await;
    let missing = missing.err().ok_or("it was there")?;
    assert!(missing.message.contains("nonesuch"), "{missing}");
    Ok(())
}
