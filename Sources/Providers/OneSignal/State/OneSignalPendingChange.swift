package import Values

extension OneSignalApp.User {
    /// A change of tags and other properties, in the form in which they are stored (OneSignal fact
    /// sheet, section 8).
    package struct PendingChange: Hashable, Codable, Sendable {
        /// The names that a tag must not have.
        private static let reservedTags: Set<String> = [
            "message", "notification", "subscription", "user", "template", "app", "org",
            "dynamic_content", "data_feed", "journey", "custom_data",
        ]

        /// The time at which the API shows the change.
        package let due: Instant
        package let tags: JSONObject
        package let properties: JSONObject

        /// Converts properties from a request to their stored form.
        ///
        /// Tags become strings, and everything else stays unchanged.
        init(_ properties: JSONObject?, due: Instant) throws(OneSignalError) {
            var tags = JSONObject()
            for member in properties?["tags"]?.object?.members ?? [] {
                switch member.value {
                case .string, .number, .bool:
                    tags[member.key] = .string(
                        member.value.scalarText ?? (member.value == true ? "true" : "false")
                    )
                // An empty string always deletes a tag. Null deletes a tag when a device is edited.
                case .null: tags[member.key] = ""
                case .array, .object:
                    throw OneSignalError(
                        400,
                        "Tag values must be strings: \(member.key)",
                        confidence: .inferred
                    )
                }
                guard !Self.reservedTags.contains(member.key) else {
                    throw OneSignalError(
                        400,
                        "\(member.key) is a reserved tag key",
                        confidence: .inferred
                    )
                }
            }
            var otherProperties = JSONObject()
            for member in properties?.members ?? [] where member.key != "tags" {
                otherProperties[member.key] = member.value
            }
            // A changed property counts like a tag (OneSignal fact sheet, section 9).
            guard tags.members.count + otherProperties.members.count <= 100 else {
                throw .tooManyTags
            }
            self.due = due
            self.tags = tags
            self.properties = otherProperties
        }

        /// Returns the effect of the changed tags on a user; nil when the values of all tags stay
        /// the same.
        func tagEffect(
            on user: OneSignalApp.User,
            previousUser: OneSignalApp.User?
        ) -> Effect? {
            let changed = tags.members.filter { member in
                let oldValue = previousUser?.tags[member.key]?.string ?? ""
                return oldValue != member.value.string
            }
            guard !changed.isEmpty else { return nil }
            return user.effect("onesignal.tags", JSONObject(members: changed))
        }
    }

    mutating func applyChange(_ change: PendingChange) {
        for member in change.tags.members {
            tags[member.key] = member.value.string?.isEmpty == true ? nil : member.value
        }
        for member in change.properties.members { properties[member.key] = member.value }
    }

    /// Applies a change now, or keeps it until it is due if the API shows changes with a delay.
    mutating func applyChange(_ change: PendingChange, delayedBy delaySeconds: Int64) {
        if delaySeconds > 0 {
            pending.append(change)
        } else {
            applyChange(change)
        }
    }

    /// Returns whether the user would have more tags than the limit after a change; nil means no
    /// limit.
    func exceedsTagLimit(_ max: Int?, after change: PendingChange) -> Bool {
        guard let max else { return false }
        var changedUser = self
        changedUser.applyChange(change)
        return changedUser.tags.members.count > max
    }
}
