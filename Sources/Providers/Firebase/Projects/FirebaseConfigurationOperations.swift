internal import Values

/// The operations that read and change the configuration of a project (Firebase fact sheet,
/// section 4.15).
enum FirebaseConfigurationOperations {
    /// Returns the configuration that an app may read.
    static func publicConfig(_: FirebaseState, _: FirebaseCall) -> JSONObject {
        ["projectId": .string(FirebaseState.projectNumber), "authorizedDomains": ["localhost"]]
    }

    static func recaptchaParams(_: FirebaseState, _: FirebaseCall) -> JSONObject {
        [
            "kind": "identitytoolkit#GetRecaptchaParamResponse",
            "recaptchaStoken": "This-is-a-fake-token__Dont-send-this-to-the-Recaptcha-service",
            "recaptchaSiteKey": "Fake-key__Do-not-send-this-to-Recaptcha_",
        ]
    }

    static func view(_ state: FirebaseState, _ call: FirebaseCall) -> JSONObject {
        state.project(call).configurationJSON
    }

    /// Changes the settings of a project that the request contains.
    ///
    /// In version 2 of the API, it changes only the settings that `updateMask` names.
    static func update(
        _ state: inout FirebaseState,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> JSONObject {
        let updateMask = call.query("updateMask")?.split(separator: ",").map(String.init)
        func isFieldInMask(_ path: String) -> Bool {
            updateMask?.contains { path == $0 || path.hasPrefix($0 + ".") } ?? true
        }
        let body = call.fields.object
        if let flag = body["signIn"]?["allowDuplicateEmails"]?.bool,
            isFieldInMask("signIn.allowDuplicateEmails")
        {
            state.editProject(call) { $0.configuration.allowsDuplicateEmails = flag }
        }
        if let flag = body["emailPrivacyConfig"]?["enableImprovedEmailPrivacy"]?.bool,
            isFieldInMask("emailPrivacyConfig.enableImprovedEmailPrivacy")
        {
            state.editProject(call) { $0.configuration.enumerationProtection = flag }
        }
        if let functions = body["blockingFunctions"], isFieldInMask("blockingFunctions") {
            state.editProject(call) { $0.configuration.blockingFunctions = functions }
        }
        let secondFactorMask = updateMask?.filter { $0 == "mfa" || $0.hasPrefix("mfa.") } ?? ["mfa"]
        if !secondFactorMask.isEmpty, body["mfa"] != nil || updateMask != nil {
            var rules: JSONObject = ["mfa": .object(state.project(call).secondFactorRules.members)]
            try rules.copyFields(secondFactorMask, from: body)
            let updatedRules = rules["mfa"]?.object.map(SecondFactorRules.init(members:))
            state.editProject(call) { $0.configuration.secondFactorRules = updatedRules }
        }
        return view(state, call)
    }
}

extension FirebaseOperation {
    static let configurationRows: [Row] = [
        .init(
            "GET",
            "/v2/projects/{project}/config",
            FirebaseOperation(
                isAdminOnly: true,
                handle: reading(FirebaseConfigurationOperations.view)
            )
        ),
        .init(
            "PATCH",
            "/v2/projects/{project}/config",
            FirebaseOperation(isAdminOnly: true, handle: FirebaseConfigurationOperations.update)
        ),
    ]
}
