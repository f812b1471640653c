internal import Values

/// The operation that exchanges an ID token for a session cookie (Firebase fact sheet, section
/// 4.14).
enum FirebaseSessionCookies {
    static func create(
        _ state: inout FirebaseState,
        _ call: FirebaseCall
    ) throws(FirebaseError) -> JSONObject {
        _ = try call.fields.requiredText("idToken", "MISSING_ID_TOKEN")
        let seconds =
            call.fields.hasValue("validDuration") ? call.fields.int("validDuration") : 1_209_600
        guard let seconds, (300...1_209_600).contains(seconds) else {
            throw FirebaseError("INVALID_DURATION")
        }
        var claims = try SignInSession(of: call, state).claims
        claims["iat"] = .integer(call.now.seconds)
        claims["exp"] = .integer(call.now.seconds + seconds)
        claims["iss"] = .string("https://session.firebase.google.com/" + call.projectID)
        let key = state.keys.cookieKey(state.settings.tokens, at: call.now)
        return ["sessionCookie": .string(WebToken.text(claims, key: key))]
    }
}
