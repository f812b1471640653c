/// Names of the window that a reply of the bridge would overwrite, or that cannot be cleared.
///
/// Source: the bridge's fact sheet, section 1.4.
package enum WindowNames {
    package static let all: Set<String> = [
        "name", "location", "top", "self", "window", "document", "status", "length", "origin",
        "parent", "history", "event", "closed", "frames", "opener", "screen", "navigator",
        "performance", "localStorage", "sessionStorage", "external", "uuid",
    ]
}
