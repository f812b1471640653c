internal import Grammar
internal import Values

extension Search {
    /// The values of the contract's key `vary`, collected while the file is parsed.
    struct GeneratedSearch: Hashable, Sendable {
        var variation = Variation.unknownTypes
        var count = 12

        static let grammar = Construct<GeneratedSearch>(
            "vary",
            "'vary'",
            "Variations of one event that must make no difference to a tolerant backend.",
            makeEmptyOwner: { _ in GeneratedSearch() }
        ) {
            Field.required("what", \.variation, .choice("variation"), "The kind of variation.")
            Field.value(
                "times",
                \.count,
                .count(1...200),
                default: 12,
                "The number of variations."
            )
        }
    }

    /// The three contract keys that expand a contract to many runs.
    static let keys = ["crash-points", "orders", "vary"]

    /// The contract key, such as `orders`, that makes one contract run many times in this way.
    var key: String {
        switch self {
        case .crashPoints: "crash-points"
        case .orders: "orders"
        case .generated: "vary"
        }
    }

    /// The number of sampled orders for `orders: every` with more than
    /// `Search.exhaustivelyOrderedEventCountMax` events.
    static let defaultSampleSize = 40
}

/// The three contract keys that expand a contract to many runs.
extension Field where Owner == Contract {
    static var crashPoints: Field {
        .choice(
            "crash-points",
            \.search,
            .list(.choice("fault"), countMin: 1),
            embed: { Search.crashPoints($0) },
            extract: { if case .crashPoints(let faults) = $0 { faults } else { nil } },
            "Injects each of these faults once at every call to a provider that a fault-free run "
                + "makes."
        )
    }

    static var orders: Field {
        let sampleSizeRange = 2...200
        let sampleSizeSyntax = Syntax<Int>(
            .either([.words(["every"]), .count(sampleSizeRange)]),
            read: { node, reader in
                if node.json.int64 != nil { return reader.count(node, in: sampleSizeRange) }
                return reader.word(node, "value of 'orders' (or a number)", among: ["every"])
                    .map { _ in Search.defaultSampleSize }
            },
            write: { $0 == Search.defaultSampleSize ? .plain("every") : .number($0) }
        )
        return .choice(
            "orders",
            \.search,
            sampleSizeSyntax,
            embed: { Search.orders(sampleSize: $0) },
            extract: { if case .orders(let size) = $0 { size } else { nil } },
            "Delivers the events of `steps` in every order. With more than five events, only a "
                + "sample of orders is tested: the number is the size of the sample, and `every` "
                + "means 40."
        )
    }

    static var vary: Field {
        .choice(
            "vary",
            \.search,
            Search.GeneratedSearch.grammar.flow,
            embed: { Search.generated($0.variation, count: $0.count) },
            extract: { search in
                guard case .generated(let variation, let count) = search else { return nil }
                return Search.GeneratedSearch(variation: variation, count: count)
            },
            "Varies the only event of `steps`. A failing variation is shrunk to a small one, which "
                + "the option `--found` writes as a contract."
        )
    }
}
