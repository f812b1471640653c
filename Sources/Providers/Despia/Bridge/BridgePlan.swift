package import Grammar
package import Values

/// The settings and faults of the native side of the bridge, which replies to the web app's
/// commands.
///
/// Source: sections 4, 5 and 7.2 of the Despia fact sheet.
package struct BridgePlan: Hashable, Codable, Sendable {
    /// A fault that affects bridge commands with a given scheme and vault key, regardless of their
    /// position in the sequence of commands.
    package struct Fault: Hashable, Codable, Sendable {
        package enum Kind: String, Hashable, Codable, Sendable, CaseIterable {
            case drop
            /// The reply to the command arrives after the page's timeout of 30 s.
            case late = "delayed"
            case duplicate
            case wrongType = "wrong-type"
            case wrongKey = "wrong-key"
        }

        package var kind: Kind
        package var scheme: String
        /// The vault key that the affected commands name, by its role; nil: any key.
        package var role: VaultRole?
        /// The number of commands that the fault affects.
        package var times: Int

        package init(kind: Kind, scheme: String, role: VaultRole?, times: Int) {
            self.kind = kind
            self.scheme = scheme
            self.role = role
            self.times = times
        }
    }

    /// The changed settings of the bridge, by their names in the fake, for example `vaultMissing`.
    package var switches: [String: JSONValue] = [:]
    package var faults: [Fault] = []

    package init() {}
}

extension BridgePlan {
    package static let grammar = Construct<BridgePlan>(
        "bridge",
        "a bridge plan",
        "The behavior of the native side of the bridge from now on.",
        makeEmptyOwner: { _ in BridgePlan() }
    ) {
        switchFields
        faultFields
    }

    private static var switchFields: [Field<BridgePlan>] {
        [
            .switchField(
                "vault-missing",
                "vaultMissing",
                ["null", "silent", "empty", "na"],
                "The reply for a key that is not in the vault."
            ),
            .switchField(
                "vault-decode",
                "vaultDecode",
                ["once", "raw", "plusAsSpace"],
                "The way in which the native side decodes values for the vault."
            ),
            .switchField(
                "history",
                "history",
                ["array", "null", "silent", "string"],
                "The form of the store account's purchase history."
            ),
            .switchField(
                "product-field",
                "historyProductField",
                ["productId", "productIdentifier", "both"],
                "The field of a purchase that contains its product."
            ),
            .switchField(
                "result-channel",
                "hasResultChannel",
                nil,
                "Whether the runtime notifies the page of the result of a purchase."
            ),
            .latency,
            .switchField(
                "coalescing",
                "coalescesCommands",
                nil,
                "Whether a command is lost that the page assigns in the same task as the command "
                    + "before, as on iOS. The Despia package sends one command in a task."
            ),
            .switchField(
                "runtime-flags",
                "hasRuntimeFlags",
                nil,
                "Whether the page can detect that it runs in the runtime."
            ),
        ]
    }

    private static var faultFields: [Field<BridgePlan>] {
        Fault.Kind.allCases.map { kind in
            let doc =
                switch kind {
                case .drop: "Commands that are lost."
                case .late: "Commands whose reply arrives after the page's timeout of 30 s."
                case .duplicate: "Commands that get two replies."
                case .wrongType: "Commands whose reply has another type than expected."
                case .wrongKey: "Commands whose reply has another key than expected."
                }
            let faults = Syntax.oneOrMore(Fault.grammar(kind).flow)
            return Field(
                KeyShape(kind.rawValue, faults.shape, doc),
                read: { node, plan, reader in
                    plan.faults += faults.read(node, &reader) ?? []
                },
                write: { plan in
                    let faultsOfKind = plan.faults.filter { $0.kind == kind }
                    return faultsOfKind.isEmpty ? nil : faults.write(faultsOfKind)
                }
            )
        }
    }
}

extension Field where Owner == BridgePlan {
    /// The field for the key `replies-after`: the delay of every reply of the bridge's native side.
    fileprivate static var latency: Field {
        let name = "latencyMilliseconds"
        let unsignedDuration = Syntax<Duration>.unsignedDuration
        var shape = KeyShape(
            "replies-after",
            unsignedDuration.shape,
            "The time until a reply arrives."
        )
        shape.fallback = "20ms"
        return Field(
            shape,
            read: { node, plan, reader in
                guard let time = unsignedDuration.read(node, &reader) else { return }
                plan.switches[name] = .integer(time.milliseconds)
            },
            write: { plan in
                plan.switches[name]?.int64.map { unsignedDuration.write(.milliseconds($0)) }
            }
        )
    }

    /// Creates the field for one setting of the bridge; `name` is the setting's name in the fake.
    ///
    /// The value is one of the given words, or a Boolean when no words are given.
    fileprivate static func switchField(
        _ key: String,
        _ name: String,
        _ words: [String]?,
        _ doc: String
    ) -> Field {
        var shape = KeyShape(key, words.map(Shape.words) ?? .flag, doc)
        shape.fallback = "unchanged"
        return Field(
            shape,
            read: { node, plan, reader in
                let allowed = words ?? ["true", "false"]
                guard case .scalar(let text, _) = node.content, allowed.contains(text) else {
                    reader.fail(
                        .unknownValue(
                            node.json.text,
                            valueKind: "value of '\(key)'",
                            allowed: allowed
                        ),
                        at: node.location
                    )
                    return
                }
                plan.switches[name] = words == nil ? .bool(text == "true") : .string(text)
            },
            write: { plan in plan.switches[name].map { .plain($0.string ?? $0.text) } }
        )
    }
}

extension BridgePlan.Fault {
    fileprivate static func grammar(_ kind: Kind) -> Construct<BridgePlan.Fault> {
        Construct(
            "fault",
            "'\(kind.rawValue)'",
            "The commands that a fault affects.",
            makeEmptyOwner: { _ in BridgePlan.Fault(kind: kind, scheme: "", role: nil, times: 1) }
        ) {
            Field.required(
                "command",
                \.scheme,
                .text("a scheme such as setvault"),
                "The scheme of the commands."
            )
            Field.optional(
                "key",
                \.role,
                .choice("vault key"),
                "The vault key of the commands.",
                fallback: "any"
            )
            Field.value(
                "times",
                \.times,
                .count(1...1000),
                default: 1,
                "The number of affected commands."
            )
        }
    }
}
