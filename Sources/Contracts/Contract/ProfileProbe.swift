package import Values

extension Profile {
    /// A read-only query that shows one user's state in the backend.
    package struct Probe: Hashable, Codable, Sendable {
        package enum Source: Hashable, Codable, Sendable {
            /// A GET request to this path of the backend, or to this complete URL.
            case get(String)
            case command([String])
        }

        package var name: String
        package var source: Source
        package var readings: [String: FieldReading]
        /// The locations in the probe's response that comparisons between runs skip.
        package var ignoredPointers: [JSONPointer]
        /// The credentials that the probe's request carries; nil: none.
        package var credentials: Credentials?

        package init(
            name: String,
            source: Source,
            readings: [String: FieldReading],
            ignoredPointers: [JSONPointer]
        ) {
            self.name = name
            self.source = source
            self.readings = readings
            self.ignoredPointers = ignoredPointers
        }
    }

    /// The location of one state field, such as `access`, in a probe's response, and the way to
    /// interpret the JSON value there.
    package struct FieldReading: Hashable, Codable, Sendable {
        package enum Meaning: Hashable, Codable, Sendable {
            /// The field has the value that is found at the location.
            case value
            /// The field is true when the value at the location is one of these values.
            case isOneOf([JSONValue])
            /// The field is true when the value at the location is none of these values.
            case isNoneOf([JSONValue])
            /// The field is true when the value at the location is a time in the future.
            case isFuture
        }

        package var pointer: JSONPointer
        package var meaning: Meaning
        /// The field's value when the response does not contain the location; nil: the field is
        /// then inconclusive.
        package var valueIfPathAbsent: JSONValue?
        /// Further conditions on the response, all of which must hold for the field to be true;
        /// nil: none.
        package var additionalConditions: [FieldReading]?
        /// Alternative conditions on the response, any of which makes the field true; nil: none.
        package var alternativeConditions: [FieldReading]?

        package init(pointer: JSONPointer, meaning: Meaning, valueIfPathAbsent: JSONValue? = nil) {
            self.pointer = pointer
            self.meaning = meaning
            self.valueIfPathAbsent = valueIfPathAbsent
        }

        /// Whether the field is computed from several conditions on the response (`additionalConditions`, `alternativeConditions`).
        package var hasCombinedConditions: Bool {
            additionalConditions != nil || alternativeConditions != nil
        }

        /// All conditions from which the field is computed, as a flat list.
        ///
        /// In each returned condition, `additionalConditions` and `alternativeConditions` are
        /// removed.
        package var conditions: [FieldReading] {
            let directReading = FieldReading(
                pointer: pointer,
                meaning: meaning,
                valueIfPathAbsent: valueIfPathAbsent
            )
            return [directReading]
                + ((additionalConditions ?? []) + (alternativeConditions ?? [])).flatMap(
                    \.conditions
                )
        }

        /// The names of the state fields that a profile may map from probe responses (see the
        /// architecture page).
        package static let names = [
            "access", "product", "expires", "billing-issue", "will-renew", "refunded",
            "pending-product", "environment", "anonymous", "account", "source",
        ]

        /// The state fields that a probe's response must contain for every ordinary purchase.
        package static let fieldsOfEveryPurchase = ["access", "product", "expires"]

        /// The state fields whose values are true or false.
        package static let booleanFields = [
            "access", "billing-issue", "will-renew", "refunded", "anonymous",
        ]
    }
}
