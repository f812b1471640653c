internal import Values

/// The fake sign-in pop-up of the emulator.
enum FirebasePopup {
    /// Returns the page of the fake sign-in pop-up.
    ///
    /// It shows a made-up credential of the identity provider, which the user copies into the app's
    /// sign-in.
    static func response(_ name: String) throws(FirebaseError) -> HTTPMessage.Response {
        let body: String
        switch name {
        case "iframe": body = "<!doctype html><title>Auth emulator frame</title>"
        case "handler":
            body = """
                <!doctype html><meta charset="utf-8"><title>Sign in to the fake Google</title>
                <h1>Sign in to the fake Google</h1>
                <p>This page sends no data. Type an email address, and copy the credential \
                below into signInWithCredential.</p>
                <label>Email <input id="email" value="ada@example.com"></label>
                <pre id="credential"></pre>
                <script>
                const email = document.getElementById("email");
                function show() {
                  const sub = Array.from(email.value).reduce((a, c) =>
                    (a * 31 + c.charCodeAt(0)) % 1e15, 7).toString();
                  document.getElementById("credential").textContent = JSON.stringify(
                    {sub, email: email.value, email_verified: true});
                }
                email.addEventListener("input", show); show();
                </script>
                """
        default: throw .notFound
        }
        return HTTPMessage.Response(
            200,
            fields: [HTTPMessage.Field("content-type", "text/html; charset=utf-8")],
            body: Array(body.utf8)
        )
    }
}
