package import Values

/// Instructions for reading a live service without changing it.
///
/// Assay compares the live responses with the responses of the fake.
package struct LiveReadPlan: Sendable {
    /// A request whose response contains the value of a path parameter.
    package struct ParameterSource: Sendable {
        package let name: String
        /// The path of the request.
        ///
        /// It may contain path parameters whose values are already known.
        package let path: String
        /// JSON pointers into the response.
        ///
        /// The first pointer that leads to a string supplies the value.
        package let responsePointers: [String]

        init(_ name: String, _ path: String, _ responsePointers: String...) {
            (self.name, self.path, self.responsePointers) = (name, path, responsePointers)
        }
    }

    /// The authentication scheme of the `Authorization` header that carries the service's API key.
    package let scheme: String
    /// The names of the path parameters whose values the user must supply.
    package let suppliedParameters: [String]
    /// The values of the supplied path parameters for requests to the fake.
    ///
    /// For the live service, the user supplies these values.
    package let fakeParameterValues: [String: String]
    /// The requests that supply path parameters.
    ///
    /// Each one needs only parameters that earlier requests supply.
    package let parameterSources: [ParameterSource]
    /// The query string that an operation requires, by the operation's path: `?app_id={app_id}`.
    package let queryByPath: [String: String]
    /// The JSON members whose value is an object with names chosen by users, for example tags.
    package let userNamedMembers: Set<String>
    /// The JSON members that the service leaves out while they have no value, as it documents.
    package let membersOmittedWhenUnset: Set<String>
    /// Adds data to the fake, so that the fake's responses are not empty.
    package let addSampleData: @Sendable (inout Services, Instant) -> Void
}
