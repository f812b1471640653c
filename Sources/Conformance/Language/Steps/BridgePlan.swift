/// The switches and faults of the native side (Despia fact sheet, sections 4, 5 and 7.2).
package struct BridgePlan: Hashable, Codable, Sendable {
    /// Faults that hit commands by what they are, not by where they stand in the order.
    package struct Fault: Hashable, Codable, Sendable {
        package enum Kind: String, Hashable, Codable, Sendable, CaseIterable {
            case drop
            /// The reply comes after the page's 30 s.
            case late
            case duplicate
            case wrongType = "wrong-type"
            case wrongKey = "wrong-key"
        }

        package var kind: Kind
        package var scheme: String
        /// Only commands that name this key of the vault.
        package var role: PhoneChange.VaultRole?
        /// How many such commands it hits.
        package var times: Int

        package init(kind: Kind, scheme: String, role: PhoneChange.VaultRole?, times: Int) {
            self.kind = kind
            self.scheme = scheme
            self.role = role
            self.times = times
        }
    }

    /// Switches by the name that the fake gives them, for example `vaultMissing`.
    package var switches: [String: JSONValue] = [:]
    package var faults: [Fault] = []

    package init() {}
}

extension BridgePlan {
    package static let grammar = Construct<BridgePlan>(
        "bridge",
        "a plan of the bridge",
        "How the native side of the bridge behaves from now on.",
        blank: { _ in BridgePlan() }
    ) {
        switchFields
        faultFields
    }

    private static var switchFields: [Field<BridgePlan>] {
        [
            .setting(
                "vault-missing",
                "vaultMissing",
                ["null", "silent", "empty", "na"],
                "What the page gets for a key that the vault has not."
            ),
            .setting(
                "vault-decode",
                "vaultDecode",
                ["once", "raw", "plusAsSpace"],
                "How the native side decodes what is written to the vault."
            ),
            .setting(
                "history",
                "history",
                ["array", "null", "silent", "string"],
                "In which form the purchases of the store account come."
            ),
            .setting(
                "product-field",
                "historyProductField",
                ["productId", "productIdentifier", "both"],
                "Under which name a purchase says its product."
            ),
            .setting(
                "result-channel",
                "hasResultChannel",
                nil,
                "Whether the runtime tells the page how a purchase ended."
            ),
            .latency,
            .setting(
                "runtime-flags",
                "hasRuntimeFlags",
                nil,
                "Whether the page can see that it runs in the runtime."
            ),
        ]
    }

    private static var faultFields: [Field<BridgePlan>] {
        Fault.Kind.allCases.map { kind in
            let doc =
                switch kind {
                case .drop: "Commands that are lost."
                case .late: "Commands whose reply comes after the page's 30 s."
                case .duplicate: "Commands that are answered twice."
                case .wrongType: "Commands whose reply is of another type."
                case .wrongKey: "Commands whose reply stands under another name."
                }
            let faults = Syntax.oneOrMore(Fault.grammar(kind).flow)
            return Field(
                KeyShape(kind.rawValue, faults.shape, doc),
                read: { node, plan, reader in
                    plan.faults += faults.read(node, &reader) ?? []
                },
                write: { plan in
                    let own = plan.faults.filter { $0.kind == kind }
                    return own.isEmpty ? nil : faults.write(own)
                }
            )
        }
    }
}

extension Field where Owner == BridgePlan {
    /// How slow the native side is; every page reads what it asked for by then.
    fileprivate static var latency: Field {
        let name = "latencyMilliseconds"
        let span = Syntax<Duration>.span
        var shape = KeyShape("replies-after", span.shape, "How long a reply takes.")
        shape.fallback = "20ms"
        return Field(
            shape,
            read: { node, plan, reader in
                guard let time = span.read(node, &reader) else { return }
                plan.switches[name] = .integer(time.milliseconds)
            },
            write: { plan in
                plan.switches[name]?.int64.map { span.write(.milliseconds($0)) }
            }
        )
    }

    /// A switch of the fake's, by its name there; without words, it is on or off.
    fileprivate static func setting(
        _ key: String,
        _ name: String,
        _ words: [String]?,
        _ doc: String
    ) -> Field {
        var shape = KeyShape(key, words.map(Shape.words) ?? .flag, doc)
        shape.fallback = "as it is"
        return Field(
            shape,
            read: { node, plan, reader in
                let allowed = words ?? ["true", "false"]
                guard case .scalar(let text, _) = node.content, allowed.contains(text) else {
                    reader.fail(
                        .unknownValue(
                            node.json.text,
                            what: "value of '\(key)'",
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
            "Which commands a fault hits.",
            blank: { _ in BridgePlan.Fault(kind: kind, scheme: "", role: nil, times: 1) }
        ) {
            Field.required(
                "command",
                \.scheme,
                .text("a scheme such as setvault"),
                "The command."
            )
            Field.optional(
                "key",
                \.role,
                .choice("key of the vault"),
                "Only commands that name this key of the vault.",
                fallback: "all"
            )
            Field.value(
                "times",
                \.times,
                .count(1...1000),
                default: 1,
                "How many such commands it hits."
            )
        }
    }
}

extension StepForm {
    static let bridge = StepForm(
        "bridge",
        BridgePlan.grammar.flow,
        "How the native side behaves from now on.",
        embed: { .phone(.bridge($0)) },
        extract: { if case .phone(.bridge(let plan)) = $0 { plan } else { nil } }
    )
}
