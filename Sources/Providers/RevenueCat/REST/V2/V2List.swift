internal import Values

/// Lists in the responses of REST v2.
enum V2List {
    /// A resource in a list: its ID, by which the next page is requested, and its JSON.
    typealias Item = (id: String, value: JSONValue)

    /// The number of items on a page of a list when the call sets no `limit`.
    ///
    /// `pageSizeMax` is the largest number (API description of REST v2).
    private static let defaultPageSize = 20
    private static let pageSizeMax = 1000

    /// Returns the response with one page of a list.
    ///
    /// The query parameter `starting_after` contains the ID of the last item on the previous page.
    static func response(
        _ items: [Item],
        _ path: String,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        var limit = Self.defaultPageSize
        if let text = call.query("limit") {
            guard let number = Int(text), (1...Self.pageSizeMax).contains(number) else {
                throw RevenueCatError(
                    v2: 400,
                    "parameter_error",
                    "limit must be between 1 and \(Self.pageSizeMax).",
                    param: "limit"
                )
            }
            limit = number
        }
        var remainingItems = items[...]
        if let last = call.query("starting_after") {
            guard let index = items.firstIndex(where: { $0.id == last }) else {
                throw RevenueCatError(
                    v2: 400,
                    "parameter_error",
                    "starting_after names nothing of this list.",
                    param: "starting_after"
                )
            }
            remainingItems = items[(index + 1)...]
        }
        let visibleItems = remainingItems.prefix(limit)
        var nextPageURL: String?
        if visibleItems.count < remainingItems.count, let last = visibleItems.last {
            nextPageURL = "\(path)?starting_after=\(last.id.percentEncoded)&limit=\(limit)"
        }
        return HTTPMessage.Response(
            200,
            json: json(visibleItems.map(\.value), path, nextPageURL: nextPageURL)
        )
    }

    /// Returns the JSON of a list, whose path is `url`.
    static func json(_ items: [JSONValue], _ url: String, nextPageURL: String? = nil)
        -> JSONValue
    {
        [
            "object": "list", "items": .array(items),
            "next_page": nextPageURL.map(JSONValue.string) ?? .null, "url": .string(url),
        ]
    }
}
