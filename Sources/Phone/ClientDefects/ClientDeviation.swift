package import Conformance

/// How a defect exchanges one of the app's decisions.
typealias ClientDeviation = @Sendable (inout ScriptedApp.Policy) -> Void

extension ScriptedApp {
    /// The same app with some of its decisions gone wrong; with none of them, the correct one.
    ///
    /// - Parameters:
    ///   - globals: What the runtime has put on the window.
    ///   - userAgent: What the page sees of the device.
    ///   - keys: The keys of the vault by role.
    ///   - storage: What an earlier page has kept.
    ///   - defects: How it deviates from a correct app.
    ///   - seed: What its random ids are drawn from.
    package init(
        globals: JSONObject,
        userAgent: String,
        keys: [PhoneChange.VaultRole: String],
        storage: Storage,
        defects: Set<ClientDefect>,
        seed: UInt64
    ) {
        var policy = Policy()
        // In one order, because the later one sees what the earlier one did.
        for defect in ClientDefect.allCases where defects.contains(defect) {
            ClientDefect.deviations[defect]?(&policy)
        }
        self.init(
            globals: globals,
            userAgent: userAgent,
            keys: keys,
            storage: storage,
            policy: policy,
            seed: seed
        )
    }
}

extension ClientDefect {
    static let deviations = [start, identity, selling].reduce(into: [:]) { all, some in
        all.merge(some) { $1 }
    }
}
