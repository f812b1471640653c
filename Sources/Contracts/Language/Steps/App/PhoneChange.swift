package import Grammar
package import Providers
internal import Values

/// A state of a simulated phone, or an action of the phone's owner.
package struct PhoneChange: Hashable, Codable, Sendable {
    package enum OwnerAction: String, Hashable, Codable, Sendable, CaseIterable {
        /// The app is deleted and installed again: it gets a new install ID and loses its web
        /// storage, but the phone's accounts stay.
        case reinstall
        /// A second phone is added, with the same app, the same store account and the same vault
        /// account.
        case secondPhone = "second-phone"
        /// A phone is added that reports the same install ID as another phone, but shares nothing
        /// else with it.
        case cloned
        /// The vault entry with the app user ID is lost, on the phone and in the cloud.
        case loseID = "lose-id"
        /// The open purchase sheet is completed, is cancelled, or fails.
        case complete, cancel, fail
    }

    /// The kind of device, which determines the page's user agent (section 2 of the Despia fact
    /// sheet).
    package enum Kind: String, Hashable, Codable, Sendable, CaseIterable {
        case iphone, ipad, android
        case ipadDesktop = "ipad-desktop"
        /// An ordinary browser, without the native runtime.
        case browser
        /// A device with a platform that pages do not know.
        case unknown
    }

    package var phone = "phone"
    package var ownerAction: OwnerAction?
    package var kind: Kind?
    package var vault: [VaultRole: String] = [:]
    /// The purchases of the store account, as described in section 4 of the Despia fact sheet; nil:
    /// unchanged.
    package var history: [PurchaseHistoryEntry]?
    /// The time from the page's start until the install ID is available, or `missing`; nil: it is
    /// available from the start.
    package var installID: InstallID?

    package enum InstallID: Hashable, Codable, Sendable {
        case missing
        case late(Duration)
    }

    package init() {}
}

/// One purchase in the history of the store account.
///
/// Omitted values are as in the examples of the Despia fact sheet.
package struct PurchaseHistoryEntry: Hashable, Codable, Sendable {
    /// The name of the user who bought the product; nil: the purchase names no user.
    package var user: String?
    package var isAnonymous = false
    /// Whether a purchase of an anonymous customer is marked as anonymous.
    package var isMarkedAnonymous = true
    package var isActive = true
    package var environment = "production"
    package var product = "premium_monthly"
    /// The time of the purchase, relative to the start of the run.
    package var purchased: Duration = .zero

    package init() {}
}

extension PhoneChange {
    package static let grammar = Construct<PhoneChange>(
        "phone-state",
        "a phone's state",
        "The state of a phone when the app starts.",
        makeEmptyOwner: { _ in PhoneChange() }
    ) {
        Field.optional(
            "kind",
            \.kind,
            .choice("kind of phone"),
            "The kind of device, which determines the page's user agent.",
            fallback: "iphone"
        )
        Field.value(
            "vault",
            \.vault,
            .map(VaultRole.key, .verbatim("a string").templated(.phone)),
            default: [:],
            "The vault entries, by their roles in the profile.",
            fallback: "no entries"
        )
        Field.optional(
            "history",
            \.history,
            .lines(PurchaseHistoryEntry.grammar.flow),
            "The purchases of the store account.",
            fallback: "unchanged"
        )
        Field.optional(
            "install-id",
            \.installID,
            InstallID.syntax,
            "The time until the install ID is available, or `missing`.",
            fallback: "available from the start"
        )
    }

    /// The grammar of the step `phone`: an action of the phone's owner, or a state of the phone.
    static let step = Construct<PhoneChange>(
        "phone",
        "a phone",
        "A state of a phone, or an action of its owner.",
        makeEmptyOwner: { _ in PhoneChange() }
    ) {
        Field<PhoneChange>.change
        Field<PhoneChange>.phone
    }.checking { change, keys, reader in
        guard change.ownerAction == .secondPhone || change.ownerAction == .cloned, keys["on"] == nil
        else { return }
        reader.fail(.missingKey("on", of: "a new phone"), at: keys.node.location)
    }
}

extension PhoneChange.InstallID {
    fileprivate static let syntax = Syntax<PhoneChange.InstallID>(
        .either([.words(["missing"]), .duration]),
        read: { node, reader in
            if case .scalar("missing", _) = node.content { return .missing }
            return reader.duration(node).map(Self.late)
        },
        write: { installID in
            switch installID {
            case .missing: .plain("missing")
            case .late(let time): .plain(time.unsignedText)
            }
        }
    )
}

extension Field where Owner == PhoneChange {
    fileprivate static var change: Field {
        let ownerAction = Syntax<PhoneChange.OwnerAction>.choice("action of the phone's owner")
        let state = PhoneChange.grammar.flow
        var shape = KeyShape(
            "phone",
            .either([ownerAction.shape, state.shape]),
            "An action of the phone's owner, or a state of the phone."
        )
        shape.isRequired = true
        return Field(
            shape,
            read: { node, change, reader in
                guard case .mapping = node.content else {
                    change.ownerAction = ownerAction.read(node, &reader)
                    return
                }
                change = PhoneChange.grammar.read(node, &reader) ?? change
            },
            write: { $0.ownerAction.map(ownerAction.write) ?? state.write($0) }
        )
    }

    /// The field for the key `on`, the phone of the step.
    ///
    /// A new phone gets its name by this key.
    fileprivate static var phone: Field {
        var shape = KeyShape(
            "on",
            .name(.phone, .introduces),
            "The phone of the step. A new phone gets this name."
        )
        shape.fallback = NameUses.defaultPhoneName
        return Field(
            shape,
            read: { node, change, reader in
                if let name = reader.name(node, .phone, .introduces) {
                    change.phone = name
                }
            },
            write: { $0.phone == NameUses.defaultPhoneName ? nil : .plain($0.phone) }
        )
    }
}

extension PurchaseHistoryEntry {
    package static let grammar = Construct<PurchaseHistoryEntry>(
        "history",
        "a purchase",
        "One purchase of the store account. Omitted values are as in the runtime's guide.",
        makeEmptyOwner: { _ in PurchaseHistoryEntry() }
    ) {
        Field.optional(
            "user",
            \.user,
            .name(.user, .introduces),
            "The user who bought the product.",
            fallback: "no user"
        )
        Field.flag(
            "anonymous",
            \.isAnonymous,
            "Whether the customer who bought the product is anonymous."
        )
        Field.value(
            "flagged",
            \.isMarkedAnonymous,
            .flag,
            default: true,
            "Whether a purchase of an anonymous customer is marked as anonymous."
        )
        Field.value(
            "active",
            \.isActive,
            .flag,
            default: true,
            "Whether the purchase is still active."
        )
        Field.value(
            "environment",
            \.environment,
            .word("environment", among: ["production", "sandbox"]),
            default: "production",
            "Whether the purchase is real or a sandbox test."
        )
        Field.value(
            "product",
            \.product,
            .text("a product"),
            default: "premium_monthly",
            "The product that was bought."
        )
        Field.value(
            "purchased",
            \.purchased,
            .signedDuration,
            default: .zero,
            "The time of the purchase, relative to the start of the run."
        )
    }
}

extension StepForm {
    static let phone = StepForm(
        PhoneChange.step,
        embed: { .phone(.phone($0)) },
        extract: { if case .phone(.phone(let change)) = $0 { change } else { nil } }
    )
}

extension PhoneChange {
    var requiredCapabilities: [RequiredCapability] {
        var requiredCapabilities: [RequiredCapability] = []
        if let ownerAction { requiredCapabilities.append(.change(ownerAction)) }
        if let kind { requiredCapabilities.append(.kind(kind)) }
        if !vault.isEmpty { requiredCapabilities.append(.property(.vault)) }
        if history != nil { requiredCapabilities.append(.property(.history)) }
        if installID != nil { requiredCapabilities.append(.property(.installID)) }
        return requiredCapabilities
    }

    /// The names of the users whose IDs the step uses.
    var users: [String] {
        Template.users(in: vault.values.sorted()) + (history ?? []).compactMap(\.user)
    }
}
