package import Values

/// The switches of the fake Despia runtime.
///
/// The defaults are those of the Despia fact sheet, sections 4 to 7.2.
package struct DespiaSettings: Hashable, Codable, Sendable {
    /// The reply of the native side to a request for a value that does not exist: null, no reply,
    /// an empty string, or `n/a`.
    package enum MissingValueReply: String, Hashable, Codable, Sendable {
        case null, silent, empty, na
    }
    package enum ProductField: String, Hashable, Codable, Sendable {
        case productId, productIdentifier, both
    }
    package enum EntitlementField: String, Hashable, Codable, Sendable {
        case entitlement, productId
    }
    package enum HistoryFormat: String, Hashable, Codable, Sendable {
        case array, null, silent, string
    }

    /// The delay of a reply in milliseconds.
    ///
    /// A reply never arrives in the JavaScript turn in which the page sets the command (Despia fact
    /// sheet, section 1.4).
    package var latencyMilliseconds: Int64 = 20
    /// The delay of a reply in milliseconds, by the URL scheme of the command.
    ///
    /// It replaces the general delay for that scheme.
    package var latencyByScheme: [String: Int64] = [:]
    /// The delay in milliseconds of a reply that a fault delays.
    ///
    /// It exceeds the timeout of 30 s after which the page's Despia package stops waiting.
    package var lateMilliseconds: Int64 = 31_000
    /// The time in milliseconds after the page's start at which the runtime sets the variable
    /// `uuid`.
    ///
    /// With 0, it is set before any script runs.
    package var uuidDelay: Int64 = 0
    /// The time in milliseconds after the page's start at which the runtime sets the variable
    /// `onesignalplayerid`.
    package var playerIDDelay: Int64 = 0
    /// Whether the runtime sets the variables `native_runtime` and `native_os`.
    ///
    /// Older runtimes do not set them (Despia fact sheet, section 1.5).
    package var hasRuntimeFlags = true
    /// Whether a command is lost that the page assigns in the same task as the command before.
    ///
    /// The runtime turns each assignment into a navigation, and the first navigation of a task
    /// swallows the others (Despia fact sheet, section 1.2). The Despia package sends one command in
    /// a task, and therefore loses none.
    package var coalescesCommands = false
    package var vaultMissing = MissingValueReply.null
    package var vaultLockedFailure = MissingValueReply.null
    package var vaultDecode = BridgeCommand.Decoding.once
    package var historyProductField = ProductField.productId
    package var historyEntitlementField = EntitlementField.entitlement
    package var history = HistoryFormat.array
    /// Whether the runtime reports the result of a purchase with `onRevenueCatResult`.
    ///
    /// Older runtimes know only `onRevenueCatPurchase` (Despia fact sheet, section 6.1).
    package var hasResultChannel = true

    package init() {}
}
