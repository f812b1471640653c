internal import Values

/// The page of the Firebase emulator that a link in an email opens, `GET /emulator/action`
/// (Firebase fact sheet, section 7).
enum FirebaseActionPage {
    static func response(
        to request: HTTPMessage.Request,
        _ state: inout FirebaseState,
        at now: Instant
    ) -> HTTPMessage.Response {
        guard request.query("apiKey")?.isEmpty == false else {
            return failurePage("missing apiKey query parameter")
        }
        guard let code = request.query("oobCode"), !code.isEmpty else {
            return failurePage("missing oobCode query parameter")
        }
        do throws(FirebaseError) {
            return try performAction(
                code,
                request,
                &state,
                call(code, request, state, at: now)
            )
        } catch {
            return failurePage(
                "Your request to \(request.query("mode") ?? "") has expired or the link has "
                    + "already been used. (\(error.message))"
            )
        }
    }

    /// Creates an administrator's call for the project in which this code was sent.
    private static func call(
        _ code: String,
        _ request: HTTPMessage.Request,
        _ state: FirebaseState,
        at now: Instant
    ) -> FirebaseCall {
        let tenant = request.query("tenantId")
        let owningProject = state.projects.values.first { project in
            project.tenantID == tenant && project.sentCodes.actionCodes[code] != nil
        }
        let password = request.query("newPassword") ?? ""
        return FirebaseCall(
            isAdmin: true,
            projectID: owningProject?.projectID ?? state.settings.project,
            tenantID: tenant,
            fields: FirebaseFields(form: [("oobCode", code), ("newPassword", password)]),
            request: request,
            now: now
        )
    }

    private static func performAction(
        _ code: String,
        _ request: HTTPMessage.Request,
        _ state: inout FirebaseState,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> HTTPMessage.Response {
        let continueURL = request.query("continueUrl")
        switch request.query("mode") {
        case "resetPassword":
            guard let password = request.query("newPassword"), !password.isEmpty,
                password != "NEW_PASSWORD_HERE"
            else {
                return failurePage(
                    "missing newPassword query parameter",
                    "To reset the password, add the query parameter newPassword."
                )
            }
            let email = try FirebaseActionCodes.resetPassword(&state, call)["email"]?.string
            return successPage(
                "The password has been successfully updated.",
                ("email", email),
                continueURL
            )
        case "verifyEmail":
            let email = try FirebaseActionCodes.apply(code, &state, call).user.email
            return successPage(
                "The email has been successfully verified.",
                ("email", email),
                continueURL
            )
        case "verifyAndChangeEmail":
            let email = try FirebaseActionCodes.apply(code, &state, call).user.email
            return successPage(
                "The email has been successfully changed.",
                ("newEmail", email),
                continueURL
            )
        case "recoverEmail":
            let email = try FirebaseActionCodes.apply(code, &state, call).user.email
            return successPage(
                "The email has been successfully reset.",
                ("email", email),
                continueURL
            )
        case "signIn":
            guard let continueURL else {
                return failurePage("Missing continueUrl query parameter")
            }
            return signInRedirect(at: continueURL, request)
        default: return failurePage("Invalid mode")
        }
    }

    /// Returns a redirect to the app's own link with the code appended, because the app completes
    /// the sign-in.
    private static func signInRedirect(
        at continueURL: String,
        _ request: HTTPMessage.Request
    ) -> HTTPMessage.Response {
        let values = ["mode", "lang", "oobCode", "apiKey"].compactMap { name in
            request.query(name).map { "\(name)=\($0.percentEncoded)" }
        }
        let querySeparator = continueURL.contains("?") ? "&" : "?"
        let location = continueURL + querySeparator + values.joined(separator: "&")
        return HTTPMessage.Response(303, fields: [HTTPMessage.Field("Location", location)])
    }

    private static func successPage(
        _ text: String,
        _ detailField: (name: String, email: String?),
        _ continueURL: String?
    ) -> HTTPMessage.Response {
        if let continueURL {
            return HTTPMessage.Response(303, fields: [HTTPMessage.Field("Location", continueURL)])
        }
        let fields: [(String, JSONValue?)] = [
            ("success", .string(text)), (detailField.name, detailField.email.map(JSONValue.string)),
        ]
        return HTTPMessage.Response(200, json: ["authEmulator": .object(.present(fields))])
    }

    private static func failurePage(
        _ text: String,
        _ instructions: String? = nil
    ) -> HTTPMessage.Response {
        var fields: JSONObject = ["error": .string(text)]
        if let instructions { fields["instructions"] = .string(instructions) }
        return HTTPMessage.Response(400, json: ["authEmulator": .object(fields)])
    }
}
