internal import Values

/// Transfers of purchases to another owner at the fake Purchasely (Purchasely fact sheet, section
/// 7).
enum PurchaselyTransfers {
    /// Moves the subscriptions of a user or anonymous ID to another user.
    ///
    /// With `includesOneTimePurchases`, it moves one-time purchases too, as a restore of purchases
    /// may do.
    static func transfer(
        _ state: inout PurchaselyState,
        from previousOwnerID: String,
        to newOwnerID: String,
        includesOneTimePurchases: Bool,
        at now: Instant
    ) {
        func queueEvent(
            _ name: String,
            _ subscription: PurchaselySubscription,
            other: PurchaselyEvent.Holder
        ) {
            PurchaselyStoreEvents.queueEvent(&state, name, subscription, at: now) {
                $0.other = other
            }
        }
        let ownedSubscriptions = state.subscriptions.subscriptionsOwned(by: previousOwnerID)
        for oldSubscription in ownedSubscriptions
        where includesOneTimePurchases || !oldSubscription.isOneTime {
            var receivedSubscription = oldSubscription
            receivedSubscription.userID = newOwnerID
            receivedSubscription.anonymousID = nil
            receivedSubscription.previousOfferType =
                receivedSubscription.previousOfferType ?? receivedSubscription.offerType
            var lostSubscription = oldSubscription
            lostSubscription.previousOfferType = receivedSubscription.previousOfferType
            state.subscriptions[receivedSubscription.id] = receivedSubscription
            let previousOwner: PurchaselyEvent.Holder =
                oldSubscription.userID == nil ? .anonymous(previousOwnerID) : .user(previousOwnerID)
            let newOwner = PurchaselyEvent.Holder.user(newOwnerID)
            // The published events of a transfer all have the same time, and Purchasely guarantees
            // no order.
            if state.settings.transferOrder == .deactivateFirst {
                queueEvent("DEACTIVATE", lostSubscription, other: newOwner)
                queueEvent("ACTIVATE", receivedSubscription, other: previousOwner)
            } else {
                queueEvent("ACTIVATE", receivedSubscription, other: previousOwner)
                queueEvent("DEACTIVATE", lostSubscription, other: newOwner)
            }
            lostSubscription.status = lostSubscription.isOneTime ? nil : "DEACTIVATED"
            let namePrefix = oldSubscription.isOneTime ? "ONE_TIME_PURCHASE" : "SUBSCRIPTION"
            queueEvent(namePrefix + "_TRANSFERRED", lostSubscription, other: newOwner)
            queueEvent(namePrefix + "_RECEIVED", receivedSubscription, other: previousOwner)
        }
    }
}
