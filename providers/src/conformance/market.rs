//! The market, and an account that nobody used.

use gpurun_pricing::HourlyRate;

use super::case::{Failure, ensure};
use super::harness::World;

pub(super) async fn new_account_is_empty(world: &dyn World) -> Result<(), Failure> {
    let listed = world.client().list_mine().await?;
    ensure!(
        listed.is_empty(),
        "{} boxes in an account nobody used",
        listed.len()
    );
    Ok(())
}

pub(super) async fn offers_are_priced(world: &dyn World) -> Result<(), Failure> {
    let client = world.client();
    let request = world.request();
    let offers = client.search(&request).await?;
    ensure!(!offers.is_empty(), "nothing offered for {}", request.gpu);
    let mut previous = HourlyRate::ZERO;
    for offer in &offers {
        ensure!(
            offer.provider == client.name(),
            "offer {} is said to be of {}",
            offer.id,
            offer.provider
        );
        let card = client.rate_card(offer).await?;
        ensure!(
            !card.source.is_empty(),
            "offer {} has a price without a source",
            offer.id
        );
        ensure!(
            card.stop == client.capabilities().stop,
            "the rate card and the capabilities differ on stop"
        );
        let rate = card.running_rate(request.disk);
        ensure!(rate > HourlyRate::ZERO, "offer {} costs nothing", offer.id);
        ensure!(
            rate >= previous,
            "offer {} at {rate} comes after one at {previous}",
            offer.id
        );
        previous = rate;
    }
    Ok(())
}

pub(super) async fn price_limit_is_kept(world: &dyn World) -> Result<(), Failure> {
    let mut request = world.request();
    request.max_price = Some(HourlyRate::ZERO);
    let offers = world.client().search(&request).await?;
    ensure!(
        offers.is_empty(),
        "{} offers that cost nothing",
        offers.len()
    );
    Ok(())
}
