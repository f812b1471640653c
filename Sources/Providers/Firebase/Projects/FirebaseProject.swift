internal import Values

/// A Firebase project or one of its tenants: its configuration, its users, and the codes that it
/// sent to them.
package struct FirebaseProject: Hashable, Codable, Sendable {
    let projectID: String
    let tenantID: String?
    var configuration: FirebaseProjectConfiguration
    /// The settings of a tenant; nil for a project and for a tenant that was never created.
    ///
    /// If nil, everything is allowed, as in the emulator for a tenant that was never created.
    var tenantSettings: FirebaseTenantSettings?
    package var users = FirebaseUserDirectory()
    var sentCodes = FirebaseSentCodes()
    var attempts = FirebaseAttemptLog()

    init(projectID: String, tenantID: String?, settings: FirebaseSettings) {
        self.projectID = projectID
        self.tenantID = tenantID
        configuration = FirebaseProjectConfiguration(settings)
    }

    /// The rules for second factors of the project or tenant.
    var secondFactorRules: SecondFactorRules {
        if let rules = configuration.secondFactorRules ?? tenantSettings?.secondFactorRules {
            return rules
        }
        // In a tenant that was created explicitly, second factors are off until its settings enable
        // them.
        return tenantSettings == nil ? .standard : .disabled
    }

    /// The response of the operations that read or change the configuration.
    var configurationJSON: JSONObject {
        var responseFields: JSONObject = [
            "name": .string("projects/\(projectID)/config"),
            "blockingFunctions": configuration.blockingFunctions,
            "mfa": .object(secondFactorRules.members),
        ]
        for member in configuration.emulatorJSON.members {
            responseFields[member.key] = member.value
        }
        return responseFields
    }

    /// The tenant in the format of the API.
    var tenantJSON: JSONObject {
        let id = tenantID ?? ""
        var tenantJSON: JSONObject = [
            "name": .string("projects/\(projectID)/tenants/\(id)"), "tenantId": .string(id),
        ]
        let settings = tenantSettings ?? .unrestricted
        for member in settings.members.members { tenantJSON[member.key] = member.value }
        return tenantJSON
    }
}
