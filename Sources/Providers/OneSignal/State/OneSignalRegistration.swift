internal import Values

extension OneSignalApp {
    /// Registers a device, as the SDK on a phone does, and assigns the device's external ID to its
    /// user.
    mutating func register(
        _ device: DespiaOutbox.Registration,
        at now: Instant,
        _ ids: inout IDSource
    ) {
        let existingRecord = subscriptions[device.playerID]
        var owner =
            device.externalID.flatMap { user("external_id", $0) }
            ?? existingRecord.flatMap { users[$0.ownerID] }
            ?? User(
                id: ids.uuid(),
                firstActive: now.seconds,
                lastActive: now.seconds
            )
        if let externalID = device.externalID { owner.aliases["external_id"] = externalID }
        save(owner)
        var subscription =
            existingRecord
            ?? Subscription(
                id: device.playerID,
                type: device.isAndroid ? "AndroidPush" : "iOSPush",
                token: device.playerID,
                isEnabled: true,
                notificationTypes: 1,
                ownerID: owner.id,
                created: now.seconds
            )
        subscription.ownerID = owner.id
        save(subscription)
    }
}
