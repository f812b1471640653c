internal import Values

/// An operation of OneSignal's REST API (OneSignal's API description; OneSignal fact sheet,
/// sections 3 to 10).
struct OneSignalOperation: Sendable {
    /// The permission that a caller needs for an operation.
    enum RequiredAccess: Hashable, Sendable {
        /// The caller needs an API key of the app that the request addresses.
        case app
        /// The caller needs the API key of the organization.
        case organization
        /// The caller is a device, or knows a user's ID.
        ///
        /// The caller needs no API key if a switch of the fake allows calls without a key.
        case players, users
        /// The caller needs no API key, because the name of the requested file cannot be guessed.
        case unauthenticated
    }

    /// The function that executes an operation.
    enum Handler: Sendable {
        /// A function that only reads the state.
        case read(
            @Sendable (OneSignalState, OneSignalCall) throws(OneSignalError) -> HTTPMessage.Response
        )
        /// A function that may change the state.
        case change(
            @Sendable (inout OneSignalState, OneSignalCall) throws(OneSignalError) ->
                HTTPMessage.Response
        )
        /// A function that may change the state, and adds the observable changes to the effects.
        case changeWithEffects(
            @Sendable (inout OneSignalState, OneSignalCall, inout [Effect]) throws(OneSignalError)
                -> HTTPMessage.Response
        )

        func run(
            _ state: inout OneSignalState,
            _ call: OneSignalCall,
            _ effects: inout [Effect]
        ) throws(OneSignalError) -> HTTPMessage.Response {
            switch self {
            case .read(let function): try function(state, call)
            case .change(let function): try function(&state, call)
            case .changeWithEffects(let function): try function(&state, call, &effects)
            }
        }
    }

    let requiredAccess: RequiredAccess
    /// The confidence in the responses to calls that succeed.
    let confidence: Reply.Confidence
    /// The error for a caller without the required access; nil for the usual error.
    let accessError: OneSignalError?
    let handler: Handler
}
