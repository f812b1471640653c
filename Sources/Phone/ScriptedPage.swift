package import Values

/// The content of the scripted app's page.
package struct ScriptedPage: Sendable {
    var isLoading = true
    var hasAccess = false
    var error: String?
    var subscription: (status: String, product: String?)?

    /// The content of the page, with the member names of `AppExpectation.Screen.Element`.
    package var screen: JSONValue {
        [
            "loading": .bool(isLoading), "access": .bool(hasAccess),
            "error": .bool(error != nil),
            "status": subscription.map { .string($0.status) } ?? .null,
            "product": subscription?.product.map(JSONValue.string) ?? .null,
        ]
    }
}
