/// What a phone holds, or an act of its owner.
package struct PhoneChange: Hashable, Codable, Sendable {
    package enum Act: String, Hashable, Codable, Sendable, CaseIterable {
        /// The app is deleted and installed again: new install id, web storage gone, accounts kept.
        case reinstall
        /// Another phone with the same store and vault account, and the app on it.
        case secondPhone = "second-phone"
        /// Another phone that reports the same install id, and shares nothing else.
        case cloned
        /// The vault's entry that holds the app user id is lost, here and in the cloud.
        case loseID = "lose-id"
        /// The sheet that is open is bought, cancelled, or fails.
        case complete, cancel, fail
    }

    /// Whose user agent the page has (Despia fact sheet, section 2).
    package enum Kind: String, Hashable, Codable, Sendable, CaseIterable {
        case iphone, ipad, android
        case ipadDesktop = "ipad-desktop"
        /// An ordinary browser: no runtime at all.
        case browser
        /// A platform that no page knows yet.
        case unknown
    }

    /// What the vault holds, by the role that the profile gives its key.
    package enum VaultRole: String, Hashable, Codable, Sendable, CaseIterable {
        case id, lock
    }

    package var phone = "phone"
    package var act: Act?
    package var kind: Kind?
    package var vault: [VaultRole: String] = [:]
    /// Purchases of the store account, as section 4 of the fact sheet describes them; nil: as is.
    package var history: [HistoryEntry]?
    /// The install id is not there when the page starts: it comes after this long, or never.
    package var installID: InstallID?

    package enum InstallID: Hashable, Codable, Sendable {
        case missing
        case late(Duration)
    }

    package init() {}
}

/// One purchase of the store account; what is not said is as in the fact sheet's examples.
package struct HistoryEntry: Hashable, Codable, Sendable {
    /// The user of the contract that bought it, or nobody.
    package var user: String?
    package var isAnonymous = false
    /// A purchase of an anonymous customer says that it is one.
    package var isFlagged = true
    package var isActive = true
    package var environment = "production"
    package var product = "premium_monthly"
    /// Relative to the start of the run.
    package var purchased: Duration = .zero

    package init() {}
}

extension PhoneChange {
    package static let grammar = Construct<PhoneChange>(
        "phone-state",
        "a phone's state",
        "What a phone holds when the app starts.",
        blank: { _ in PhoneChange() }
    ) {
        Field.optional(
            "kind",
            \.kind,
            .choice("kind of phone"),
            "Whose user agent the page has.",
            fallback: "iphone"
        )
        Field.value(
            "vault",
            \.vault,
            .map(VaultRole.key, .verbatim("a text").templated(.phone)),
            default: [:],
            "What the vault holds, by the role that the profile gives its keys.",
            fallback: "nothing"
        )
        Field.optional(
            "history",
            \.history,
            .lines(HistoryEntry.grammar.flow),
            "Purchases of the store account.",
            fallback: "as they are"
        )
        Field.optional(
            "install-id",
            \.installID,
            InstallID.syntax,
            "When the install id is there: after this long, or never.",
            fallback: "from the start"
        )
    }

    /// An act of the owner, or what the phone holds.
    static let step = Construct<PhoneChange>(
        "phone",
        "a phone",
        "What a phone holds, or an act of its owner.",
        blank: { _ in PhoneChange() }
    ) {
        Field<PhoneChange>.change
        Field<PhoneChange>.phone
    }.checking { change, keys, reader in
        guard change.act == .secondPhone || change.act == .cloned, keys["on"] == nil else { return }
        reader.fail(.missingKey("on", of: "a phone that is new"), at: keys.node.location)
    }
}

extension PhoneChange.VaultRole {
    /// One of the roles, as a key.
    package static let key = Syntax<String>.key(among: allCases.map(\.rawValue))
        .mapped(to: { Self(rawValue: $0) ?? .id }, from: \.rawValue)
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
        let act = Syntax<PhoneChange.Act>.choice("act of the phone's owner")
        let state = PhoneChange.grammar.flow
        var shape = KeyShape(
            "phone",
            .either([act.shape, state.shape]),
            "An act of the phone's owner, or what the phone holds."
        )
        shape.isRequired = true
        return Field(
            shape,
            read: { node, change, reader in
                guard case .mapping = node.content else {
                    change.act = act.read(node, &reader)
                    return
                }
                change = PhoneChange.grammar.read(node, &reader) ?? change
            },
            write: { $0.act.map(act.write) ?? state.write($0) }
        )
    }

    /// Phones that are new get their name here.
    fileprivate static var phone: Field {
        var shape = KeyShape(
            "on",
            .name(.phone, .introduces),
            "The phone; a new one gets its name."
        )
        shape.fallback = Names.usualPhone
        return Field(
            shape,
            read: { node, change, reader in
                if let name = reader.name(node, .phone, .introduces) {
                    change.phone = name
                }
            },
            write: { $0.phone == Names.usualPhone ? nil : .plain($0.phone) }
        )
    }
}

extension HistoryEntry {
    package static let grammar = Construct<HistoryEntry>(
        "history",
        "a purchase",
        "One purchase of the store account; what is not said is as the runtime's guide shows it.",
        blank: { _ in HistoryEntry() }
    ) {
        Field.optional(
            "user",
            \.user,
            .name(.user, .introduces),
            "Who bought it.",
            fallback: "it names nobody"
        )
        Field.flag("anonymous", \.isAnonymous, "It names an anonymous customer.")
        Field.value(
            "flagged",
            \.isFlagged,
            .flag,
            default: true,
            "A purchase of an anonymous customer says that it is one."
        )
        Field.value("active", \.isActive, .flag, default: true, "It has not ended.")
        Field.value(
            "environment",
            \.environment,
            .word("environment", among: ["production", "sandbox"]),
            default: "production",
            "Whether money changed hands."
        )
        Field.value(
            "product",
            \.product,
            .text("a product"),
            default: "premium_monthly",
            "What was bought."
        )
        Field.value(
            "purchased",
            \.purchased,
            .moment,
            default: .zero,
            "When, relative to the start of the run."
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
    var demands: [Demand] {
        var demands: [Demand] = []
        if let act { demands.append(.change(act)) }
        if let kind { demands.append(.kind(kind)) }
        if !vault.isEmpty { demands.append(.property(.vault)) }
        if history != nil { demands.append(.property(.history)) }
        if installID != nil { demands.append(.property(.installID)) }
        return demands
    }

    /// The users whose ids it names.
    var users: [String] {
        TemplateValues.users(in: vault.values.sorted()) + (history ?? []).compactMap(\.user)
    }
}
