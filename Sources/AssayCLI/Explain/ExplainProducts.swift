internal import ContractFiles
internal import Contracts
internal import Grammar
internal import Providers
internal import Values

/// The output of `assay explain products`: the products and plans that contracts name, and the lines
/// of a profile that map them.
struct ExplainProducts {
    let library: ContractLibrary

    /// A product or plan, with the number of cases that name it and the provider that sells it.
    private struct Entry {
        let name: String
        var caseCount = 0
        let title: String
    }

    private static let nameWidth = 20

    /// Prints the products, what they unlock, and a profile that maps them.
    func run() {
        let entries = entries
        Terminal.output(
            "Products and plans in contracts, with the number of cases that can use them:\n"
        )
        for entry in entries {
            let padding = String(repeating: " ", count: max(2, Self.nameWidth - entry.name.count))
            let count = String(entry.caseCount)
            let space = String(repeating: " ", count: max(0, 5 - count.count))
            Terminal.output("  \(entry.name)\(padding)\(space)\(count)  \(meaning(of: entry))\n")
        }
        let main = Profile().entitlement
        Terminal.output(
            """

            Entitlements in events:
              \(main)   what your app sells; 'entitlement' in the profile names yours
              \(EntitlementSelection.otherName(than: main))    another entitlement, which must not give access

            A profile that maps the products of your store (replace the values):

            """
        )
        let products = JSONObject(
            members: entries.prefix(2).map { .init(key: $0.name, value: "com.example.product") }
        )
        let example: JSONObject = ["products": .object(products), "entitlement": "pro"]
        for line in YAMLNode.file(YAMLNode.exampleEntries(example)).split(separator: "\n") {
            Terminal.output("  \(line)\n")
        }
        Terminal.output(
            """

            Without 'products', events contain the names above. With it, a case that needs a
            product without an ID is not run, and the report shows the line to add.

            """
        )
    }

    private var entries: [Entry] {
        var entries: [Entry] = []
        for contract in library.contracts where !contract.isDeviceScenario {
            var seenNames: Set<String> = []
            for delivery in CasePlan(contract).subject.deliveries {
                guard case .event(let event) = delivery.subject else { continue }
                for name in event.products where seenNames.insert(name).inserted {
                    let index =
                        entries.firstIndex { $0.name == name }
                        ?? {
                            let title = ProviderTable.all[delivery.provider]?.title ?? ""
                            entries.append(Entry(name: name, title: title))
                            return entries.count - 1
                        }()
                    entries[index].caseCount += 1
                }
            }
        }
        return entries.sorted { ($1.caseCount, $0.name) < ($0.caseCount, $1.name) }
    }

    /// Returns the period of a product of the standard catalog and its entitlement, or the provider
    /// of a plan.
    private func meaning(of entry: Entry) -> String {
        guard let product = CatalogProduct.named(entry.name) else { return entry.title }
        let period = product.days.map { "\($0) days" } ?? "once"
        let unlocks =
            switch product.entitlements {
            case .main: "unlocks your entitlement"
            case .other: "unlocks another entitlement"
            case .both: "unlocks your entitlement and another one"
            case .none: "unlocks nothing"
            }
        return "\(period), \(unlocks)"
    }
}
