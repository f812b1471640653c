internal import Values

/// The operations of REST v1 on customers: reading, identifying, attributes and offerings.
extension RevenueCatState {
    private static let platforms: Set<String> = [
        "ios", "android", "amazon", "macos", "uikitformac", "stripe", "roku", "paddle",
    ]

    /// Returns the response with a customer; creates the customer if the App User ID is unknown.
    mutating func readCustomer(_ call: CallV1) -> HTTPMessage.Response {
        let id = call.appUserID
        let isNewCustomer = customerByID[id] == nil
        let customerNumber = customer(named: [id], original: id, call.now)
        // Only a read by a device updates `last_seen`. Backends do not send the header
        // `X-Platform`.
        if let platform = call.platform { _ = recordActivity(id, call.now, platform: platform) }
        return customerInfo(
            customerNumber,
            isNewCustomer ? settings.createdByReadStatus : 200,
            call
        )
    }

    mutating func deleteCustomer(_ call: CallV1) throws(RevenueCatError) -> HTTPMessage.Response {
        try requireKey(.secret, call)
        let id = call.appUserID
        guard let customerNumber = customerByID[id] else {
            throw RevenueCatError(404, 7259, "Subscriber not found.")
        }
        saveLaggedState(at: call.now)
        removeCustomer(customerNumber)
        return HTTPMessage.Response(200, json: ["app_user_id": .string(id), "deleted": true])
    }

    mutating func logIn(_ call: CallV1) throws(RevenueCatError) -> HTTPMessage.Response {
        let currentUserID = try Self.validAppUserID(call.body["app_user_id"]?.string ?? "")
        let newUserID = try Self.validAppUserID(call.body["new_app_user_id"]?.string ?? "")
        saveLaggedState(at: call.now)
        let isNewCustomer = identify(currentUserID, as: newUserID, call.now)
        return customerInfo(customerByID[newUserID] ?? 0, isNewCustomer ? 201 : 200, call)
    }

    mutating func setRestoreBehavior(
        _ call: CallV1
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        try requireKey(.secret, call)
        let name = call.body["restore_behavior"]?.string ?? ""
        guard let behavior = RevenueCatSettings.RestoreBehavior(rawValue: name),
            behavior != .share
        else { throw RevenueCatError(400, 7226, "restore_behavior is not valid.") }
        let customerNumber = recordActivity(call.appUserID, call.now)
        customers[customerNumber]?.restoreBehavior = behavior
        return customerInfo(customerNumber, 200, call)
    }

    // MARK: Attributes

    /// Returns an empty response to attribution data; records only the customer's activity.
    mutating func acceptAttribution(_ call: CallV1) -> HTTPMessage.Response {
        _ = recordActivity(call.appUserID, call.now)
        return HTTPMessage.Response(200, json: [:])
    }

    mutating func setAttributes(_ call: CallV1) throws(RevenueCatError) -> HTTPMessage.Response {
        try setAttributes(of: call.appUserID, call)
    }

    mutating func setAttributes(
        of id: String,
        _ call: CallV1
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        guard let attributes = call.body["attributes"]?.object else {
            throw RevenueCatError(
                400,
                7264,
                "Some subscriber attributes keys were unable to saved."
            )
        }
        let errors = try Self.attributeErrors(attributes)
        guard errors.isEmpty else {
            throw RevenueCatError(
                400,
                7263,
                "Some subscriber attributes keys were unable to saved.",
                errors
            )
        }
        let customerNumber = customer(named: [id], original: id, call.now)
        for member in attributes.members {
            let time = member.value["updated_at_ms"]?.int64 ?? call.now.milliseconds
            let lastUpdateMilliseconds = customers[customerNumber]?.attributes[member.key]?[
                "updated_at_ms"
            ]?.int64
            // An older write of an attribute does not overwrite a newer one.
            guard lastUpdateMilliseconds.map({ $0 <= time }) ?? true else { continue }
            let text = member.value["value"]?.string ?? ""
            customers[customerNumber]?.attributes[member.key] =
                text.isEmpty
                ? nil : ["value": .string(text), "updated_at_ms": .integer(time)]
        }
        return customerInfo(customerNumber, 200, call)
    }

    /// Whether the name of a customer attribute is valid: letters, digits, `-` and `_`, at most
    /// fifty characters.
    ///
    /// Names that RevenueCat reserves begin with `$`.
    static func isValidAttributeKey(_ key: String) -> Bool {
        let name = key.hasPrefix("$") ? key.dropFirst() : key[...]
        return (1...50).contains(key.utf8.count) && !name.isEmpty
            && name.utf8.allSatisfy { byte in
                byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
                    || (48...57).contains(byte) || (65...90).contains(byte)
                    || (97...122).contains(byte)
            }
    }

    /// Returns the problems of single customer attributes, in the format of the response's
    /// `attribute_errors`.
    private static func attributeErrors(
        _ attributes: JSONObject
    ) throws(RevenueCatError) -> [JSONValue] {
        var errors: [JSONValue] = []
        func addError(_ key: String, _ text: String) {
            errors.append(["key_name": .string(key), "message": .string(text)])
        }
        for member in attributes.members {
            let value = member.value["value"]
            guard member.value.object != nil, value?.string != nil || value?.isNull ?? true else {
                throw RevenueCatError(400, 7264, "Attributes must be objects with a value.")
            }
            let text = value?.string ?? ""
            let time = member.value["updated_at_ms"]?.int64 ?? 0
            if RequestDate(milliseconds: time) == nil {
                addError(
                    member.key,
                    "updated_at_ms must lie within \(RequestDate.acceptedRangeText)."
                )
            } else if !isValidAttributeKey(member.key) {
                addError(member.key, "Key name format is not valid.")
            } else if text.count > 500 {
                addError(member.key, "Attribute value is too long.")
            } else if member.key == "$email", !text.isEmpty, !text.contains("@") {
                addError(member.key, "Email address is not a valid email.")
            }
        }
        return errors
    }

    // MARK: Offerings

    func offerings(_ call: CallV1) throws(RevenueCatError) -> HTTPMessage.Response {
        try requireKey(.publicKey, call)
        // The public key of an app determines the store. An older public key does not, so the
        // request must name its platform.
        if call.platform != nil || !call.hasAppKey { try requirePlatform(call) }
        let overridingOfferingID = customerByID[call.appUserID].flatMap {
            customers[$0]?.offeringOverride
        }
        let packages: [JSONValue] = catalog.sellableProductIDs.map { product in
            let days = catalog.product(product).days
            let name =
                switch days {
                case 7: "$rc_weekly"
                case 365: "$rc_annual"
                case nil: "$rc_lifetime"
                default: "$rc_monthly"
                }
            return [
                "identifier": .string(name), "platform_product_identifier": .string(product),
            ]
        }
        // The offering that overrides the standard one must be in the list too.
        var offerings = [("default", "The standard offering")]
        if let overridingOfferingID, overridingOfferingID != "default" {
            offerings.append((overridingOfferingID, "An offering for single customers"))
        }
        return HTTPMessage.Response(
            200,
            json: [
                "current_offering_id": .string(overridingOfferingID ?? "default"),
                "offerings": .array(
                    offerings.map { name, description in
                        [
                            "identifier": .string(name), "description": .string(description),
                            "packages": .array(packages),
                        ]
                    }
                ),
            ]
        )
    }

    mutating func overrideOffering(_ call: CallV1) throws(RevenueCatError) -> HTTPMessage.Response {
        try setOfferingOverride(call.named("offering_uuid"), call)
    }

    mutating func deleteOfferingOverride(
        _ call: CallV1
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        try setOfferingOverride(nil, call)
    }

    private mutating func setOfferingOverride(
        _ offeringID: String?,
        _ call: CallV1
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        try requireKey(.secret, call)
        let customerNumber = recordActivity(call.appUserID, call.now)
        customers[customerNumber]?.offeringOverride = offeringID
        return customerInfo(customerNumber, 201, call)
    }

    func requirePlatform(_ call: CallV1) throws(RevenueCatError) {
        guard let platform = call.platform, Self.platforms.contains(platform.lowercased()) else {
            throw RevenueCatError(400, 7000, "Invalid platform.")
        }
    }
}
