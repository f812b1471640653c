/// Names of `window` properties that must not be vault keys: a reply of the bridge would overwrite
/// the property, or the property cannot be cleared.
package enum WindowPropertyNames {
    package static let all: Set<String> = [
        "name", "location", "top", "self", "window", "document", "status", "length", "origin",
        "parent", "history", "event", "closed", "frames", "opener", "screen", "navigator",
        "performance", "localStorage", "sessionStorage", "external", "uuid",
    ]
}
