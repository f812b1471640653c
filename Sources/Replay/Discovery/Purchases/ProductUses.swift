internal import Providers

/// The IDs of products that the files of a backend name, in code or in a file with settings.
///
/// A backend that maps its products to plans ignores a purchase of any other product.
struct ProductUses: Sendable {
    /// The weight of each ID: the number of its uses, of which those with the word "product" count
    /// more.
    private(set) var weights: [String: Int] = [:]

    init() {}

    init(_ source: SourceText) {
        guard source.text.lowercased().contains("product") else { return }
        for match in source.matches(Self.listPattern) {
            guard let list = match["list"] else { continue }
            for id in Self.ids(inList: list) { add(id, Self.namedWeight) }
        }
        for match in source.matches(Self.valuePattern) {
            if let id = match["id"] { add(id, Self.namedWeight) }
        }
        for match in source.matches(Self.periodPattern) {
            guard let id = match["id"], id.contains(where: { !$0.isLetter }) else { continue }
            add(id, 1)
        }
    }

    /// The IDs, the most likely one first: those with the word "product", and all others.
    var ids: (named: [String], others: [String]) {
        let sorted = weights.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        return (
            sorted.filter { $0.value >= Self.namedWeight }.map(\.key),
            sorted.filter { $0.value < Self.namedWeight }.map(\.key)
        )
    }

    mutating func add(_ other: ProductUses) { weights.merge(other.weights, uniquingKeysWith: +) }

    private mutating func add(_ id: String, _ weight: Int) {
        if Self.isID(id) { weights[id, default: 0] += weight }
    }

    /// Returns whether a file with this name may list products, although it is not source code.
    static func mayBeListed(inFile name: String) -> Bool {
        let name = name.lowercased()
        return name.hasSuffix(".json")
            && ["product", "plan", "catalog", "pricing", "config", "subscription"]
                .contains(where: name.contains)
    }

    // MARK: Products of the catalog

    /// Assigns IDs to the products in contracts that unlock the main entitlement, by the periods
    /// that the IDs name.
    ///
    /// - Parameter ids: The IDs of a backend, the most likely one first.
    /// - Returns: The IDs by the names of products. The default product always has one, because most
    ///   contracts sell it.
    static func assignment(of ids: [String]) -> [String: String] {
        var rest = ids
        var products: [String: String] = [:]
        let catalog = CatalogProduct.all.filter { $0.entitlements == .main }
        for product in catalog {
            let index = rest.firstIndex { id in
                periodWords(of: product).contains(where: id.lowercased().contains)
            }
            if let index { products[product.name] = rest.remove(at: index) }
        }
        guard let main = catalog.first, products[main.name] == nil else { return products }
        if !rest.isEmpty {
            products[main.name] = rest.removeFirst()
        } else if let other = catalog.first(where: { products[$0.name] != nil }) {
            products[main.name] = products.removeValue(forKey: other.name)
        }
        return products
    }

    private static func periodWords(of product: CatalogProduct) -> [String] {
        switch product.days {
        case 7: ["week"]
        case 30: ["month"]
        case 365: ["year", "annual"]
        case nil: ["life", "forever"]
        default: []
        }
    }

    // MARK: Patterns

    /// The weight of an ID in a list or a variable whose name contains "product".
    private static let namedWeight = 10

    // PRODUCT_TO_PLAN = {"gold_monthly": "gold"}, "products": ["gold_monthly"], {"vip_products": {…}}
    private static let listPattern: Pattern =
        #"(?i)\w*products?\w*["'`]?\s*(?::[^={"'`\n]*)?(?:=>|:=|[:=])\s*(?:new\s+)?(?:map\[\w+\][\w.]+|[\w.]+(?:<[^>\n]*>)?\s*\(\s*)?[{\[(]\s*(?<list>["'`](?:[^{}\[\]]|\{[^{}]*\}|\[[^\[\]]*\]){2,2000}?)[}\]]"#

    // PRODUCT_ID_GOLD = "gold", product_id == 'gold', PRODUCT_GOLD: "gold"
    private static let valuePattern: Pattern =
        #"(?i)\bproduct(?:_?(?:id|identifier|sku))?(?:_\w+)?["'`]?\s*(?::\s*\w+\s*)?(?:[!=]?==?|[:=])\s*["'`](?<id>[^"'`\s]{3,80})["'`]"#

    // "gold_monthly" in a file about products
    private static let periodPattern: Pattern =
        #"(?i)["'`](?<id>[\w.:-]*(?:week|month|year|annual|lifetime)[\w.:-]*)["'`]"#

    /// Returns the keys of a list with keys, or else its elements.
    private static func ids(inList list: String) -> [String] {
        let outer = SourceText(path: "", text: list.replacing(/\{[^{}]*\}|\[[^\[\]]*\]/, with: "0"))
        let keys = outer.matches(keyPattern).compactMap { $0["id"] }
        return keys.isEmpty ? outer.matches(elementPattern).compactMap { $0["id"] } : keys
    }

    private static let keyPattern: Pattern = #"["'`](?<id>[^"'`\s]{3,80})["'`]\s*(?::|=>)"#
    private static let elementPattern: Pattern = #"["'`](?<id>[^"'`\s]{3,80})["'`]"#

    /// Names of members and words that are no IDs.
    private static let otherWords: Set = [
        "title", "description", "name", "price", "currency", "type", "period", "duration", "store",
        "string", "number", "integer", "object", "array", "null", "none", "unknown",
    ]

    private static func isID(_ text: String) -> Bool {
        let lowercaseText = text.lowercased()
        return text.contains(where: \.isLowercase)
            && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "_-.:".contains($0)) }
            && !otherWords.contains(lowercaseText) && !lowercaseText.hasPrefix("product")
            && !["_ms", "_at", "_id", "_ids", ".py", ".js", ".ts", ".json"]
                .contains(where: lowercaseText.hasSuffix)
    }
}
