//! Who is let in, and who is believed.

use super::*;

#[tokio::test]
async fn another_host_key_is_refused_before_anything_is_sent() -> Outcome {
    let Some(mut place) = place()? else {
        return Ok(());
    };
    place.ssh().open().await?;
    let pins = fs::read_to_string(place.keys("3f9a").known_hosts())?;
    assert!(
        pins.starts_with(&format!("{BOX}.direct ssh-ed25519 ")),
        "{pins}"
    );
    // A stop keeps the box's host key; another box at its address has another one.
    place.boxes.stop(BOX)?;
    let again = place.boxes.start(&place.spec)?;
    place.access.endpoints = vec![endpoint(&again.host, again.port, SshEndpointKind::Direct)];
    place.ssh().open().await?;
    let other = BoxSpec {
        id: "other".to_owned(),
        ..place.spec.clone()
    };
    let other = place.boxes.start(&other)?;
    place.access.endpoints = vec![endpoint(&other.host, other.port, SshEndpointKind::Direct)];
    let stranger = place
        .ssh()
        .open()
        .await
        .err()
        .ok_or("a stranger was let in")?;
    assert!(
        !stranger.temporary && stranger.message.contains("another host key"),
        "{stranger}"
    );
    assert_eq!(fs::read_to_string(place.keys("3f9a").known_hosts())?, pins);
    // The same box through its provider's proxy is a first contact.
    place.access.endpoints[0].kind = SshEndpointKind::Proxy;
    place.ssh().open().await?;
    Ok(())
}

#[tokio::test]
async fn every_way_is_tried_and_told() -> Outcome {
    let Some(mut place) = place()? else {
        return Ok(());
    };
    let refused = place.boxes.refusing();
    let dead = endpoint(&refused.host, refused.port, SshEndpointKind::Direct);
    place.access.endpoints.insert(0, dead.clone());
    place.access.endpoints[1].kind = SshEndpointKind::Proxy;
    place.ssh().open().await?;
    place.access.endpoints.truncate(1);
    let down = place.ssh().open().await.err().ok_or("it is up")?;
    assert!(
        down.temporary && down.message.contains("127.0.0.1:1: "),
        "{down}"
    );
    place.access.endpoints.clear();
    let nowhere = place.ssh().open().await.err().ok_or("it is up")?;
    assert!(nowhere.message.contains("names no address"), "{nowhere}");
    Ok(())
}

#[tokio::test]
async fn only_the_runs_own_key_opens_its_box() -> Outcome {
    let Some(place) = place()? else {
        return Ok(());
    };
    place.keys("77aa").public_line()?;
    let other = Ssh::new(BOX, &place.access, place.keys("77aa"));
    let shut = other
        .open()
        .await
        .err()
        .ok_or("another run's key was taken")?;
    assert!(
        shut.temporary && shut.locked && shut.message.contains("doesn't let root in"),
        "{shut}"
    );
    assert!(
        !place.keys("77aa").known_hosts().exists(),
        "who refuses us is not pinned"
    );
    let keyless = Ssh::new(BOX, &place.access, place.keys("none"));
    let keyless = keyless.open().await.err().ok_or("no key was needed")?;
    assert!(!keyless.temporary, "{keyless}");
    Ok(())
}

#[tokio::test]
async fn the_systems_ssh_gets_in_with_the_same_key_and_pin() -> Outcome {
    let Some(mut place) = place()? else {
        return Ok(());
    };
    let argv = place.ssh().system_command().await?;
    let run = || {
        let mut command = std::process::Command::new(&argv[0]);
        command.args(&argv[1..]).arg("echo $((6 * 7))").output()
    };
    let output = run()?;
    assert!(output.status.success(), "{output:?}");
    assert_eq!(output.stdout, b"42\n");
    // Whoever answers next at the address has another key.
    let keys = place.keys("3f9a");
    let pins = fs::read_to_string(keys.known_hosts())?;
    let other = RunKeys::of(place.state.path(), "other").public_line()?;
    fs::write(keys.known_hosts(), format!("{BOX}.direct {other}\n"))?;
    assert!(!run()?.status.success(), "another host key was taken");
    fs::write(keys.known_hosts(), pins)?;
    place.boxes.stop(BOX)?;
    assert!(
        place.ssh().system_command().await.is_err(),
        "a box that is down has no way in"
    );
    Ok(())
}
