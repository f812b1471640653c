package import Values

/// The table of the members that decide what an event of one provider means.
package struct EventFields: Sendable {
    /// A member of the event, and the word before its value in a description.
    package struct Field: Sendable {
        let name: String
        /// The word before the value; empty for a value that needs no explanation.
        let label: String

        package init(_ name: String, label: String = "") { (self.name, self.label) = (name, label) }
    }

    /// The members with a string or a list of strings, such as the user, the product and the store.
    let texts: [Field]
    /// The members with a long ID, such as the transaction, of which a description contains the end.
    ///
    /// An ID that is equal to an earlier one is left out.
    let ids: [Field]
    /// The members with a date, in milliseconds since 1970.
    let dates: [Field]

    package init(texts: [Field] = [], ids: [Field] = [], dates: [Field] = []) {
        (self.texts, self.ids, self.dates) = (texts, ids, dates)
    }

    /// The number of characters at the end of an ID that a description contains.
    private static let idLength = 6

    /// Returns the ends of the IDs in an event, with their labels.
    func idTexts(_ event: JSONValue) -> [String] {
        var values: [String] = []
        return ids.compactMap { field in
            guard let value = event[field.name]?.scalarText, !value.isEmpty,
                !values.contains(where: value.isExactly)
            else { return nil }
            values.append(value)
            let end = value.count > Self.idLength ? "…\(value.suffix(Self.idLength))" : value
            return "\(field.label) \(end)"
        }
    }
}

/// A delivered event in the words of its body: its type and the values that decide what it means.
package struct EventDescription: Hashable, Sendable {
    /// A date of the event, such as the end of its subscription period.
    package struct Date: Hashable, Sendable {
        /// The word before the date, such as `until`.
        package let label: String
        package let time: Instant
    }

    package let type: String
    /// The values with their labels in the order of the provider's table, such as `user ada`.
    package let texts: [String]
    package let dates: [Date]

    /// Returns the values on one line, without the type.
    ///
    /// - Parameter dateText: A function that returns the form in which a date is shown.
    /// - Returns: The values, separated by commas.
    package func facts(_ dateText: (Instant) -> String) -> String {
        (texts + dates.map { "\($0.label) \(dateText($0.time))" }).joined(separator: ", ")
    }
}

extension WebhookFormat {
    /// Describes a delivered event by its body.
    ///
    /// - Returns: The type and the deciding values; nil when the body is not JSON or names no type.
    package func description(of request: HTTPMessage.Request) -> EventDescription? {
        guard let body = request.bodyJSON, let event = body[eventPointer],
            let type = body[typePointer]?.string
        else { return nil }
        let texts = fields.texts.compactMap { field -> String? in
            let values = event[field.name]?.array ?? event[field.name].map { [$0] } ?? []
            let text = values.compactMap(\.scalarText).joined(separator: " ")
            return text.isEmpty ? nil : field.label + (field.label.isEmpty ? "" : " ") + text
        }
        let dates = fields.dates.compactMap { field in
            event[field.name]?.int64.map {
                EventDescription.Date(label: field.label, time: Instant(milliseconds: $0))
            }
        }
        return EventDescription(type: type, texts: texts + fields.idTexts(event), dates: dates)
    }
}
