package import Values

extension OneSignalState {
    /// Describes a call: the recipients and the text of a message, or the user that the call names.
    package static func callText(_ exchange: Exchange) -> String? {
        let request = exchange.request
        let body = request.bodyJSON?.object ?? [:]
        guard let path = request.pathSegments else { return nil }
        if request.method == "POST", path.last == "notifications" {
            return body.members.isEmpty ? nil : messageText(body)
        }
        let tags = (body["properties"]?["tags"] ?? body["tags"])?.object?.members ?? []
        let tagText = tags.map { "\($0.key)=\($0.value.scalarText ?? $0.value.text)" }
            .joined(separator: ", ")
        let userText = aliasText(path, body)
        let text = [userText, tagText.isEmpty ? nil : "tags \(tagText)"].compactMap { $0 }
        return text.isEmpty ? nil : text.joined(separator: ", ")
    }

    /// Returns the recipients of a message, its heading and text, and its idempotency key, such as
    /// `to ada: "Welcome", key 17`.
    private static func messageText(_ body: JSONObject) -> String {
        let requested = RequestedRecipients(body)
        let recipients =
            requested.ids + requested.filterValues
            + requested.segments.map { "segment \($0)" }
        let texts = ["headings", "contents"].compactMap { name in
            body[name]?["en"] ?? body[name]?.object?.members.first?.value
        }
        let shownTexts = (texts + ["email_subject", "template_id"].compactMap { body[$0] })
            .compactMap(\.string).filter { !$0.isEmpty }
        let text =
            recipients.isEmpty ? "to no recipient" : "to " + recipients.joined(separator: ", ")
        let quotedText =
            shownTexts.isEmpty ? "" : ": \"" + shownTexts.joined(separator: " · ") + "\""
        let keyText = OneSignalMessage(body).idempotencyKey.map { ", key \($0)" } ?? ""
        return text + quotedText + keyText
    }

    /// Returns the alias by which a call names its user, such as `external_id ada`; nil for none.
    private static func aliasText(_ path: [String], _ body: JSONObject) -> String? {
        if let index = path.firstIndex(of: "by"), index + 2 < path.count {
            return "\(path[index + 1]) \(path[index + 2])"
        }
        let aliases = body["identity"]?.object?.members.compactMap { member in
            member.value.scalarText.map { "\(member.key) \($0)" }
        }
        return aliases?.isEmpty == false ? aliases?.joined(separator: ", ") : nil
    }
}
