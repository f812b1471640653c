internal import Values

/// The routing of requests to the fake Firebase: to its hosts, to the published keys, to the
/// endpoints of the emulator, and to the table of operations.
enum FirebaseRouter {
    /// Returns the reply to a request, with the headers that let web pages read it.
    static func reply(
        to request: HTTPMessage.Request,
        _ state: inout FirebaseState,
        at now: Instant
    ) -> Reply {
        var response: HTTPMessage.Response
        var confidence = Reply.Confidence.documented
        if request.method == "OPTIONS" {
            response = preflightResponse(request)
        } else {
            do throws(FirebaseError) {
                response = try routedResponse(request, &state, at: now)
            } catch {
                response = error.response
                if error.status == 501 { confidence = .inferred }
            }
        }
        if let origin = request[field: "origin"] {
            response.fields.append(HTTPMessage.Field("Access-Control-Allow-Origin", origin))
            response.fields.append(HTTPMessage.Field("Vary", "Origin"))
        }
        return Reply(response, confidence, of: "firebase")
    }

    private static func preflightResponse(_ request: HTTPMessage.Request) -> HTTPMessage.Response {
        var fields = [
            HTTPMessage.Field("Access-Control-Allow-Methods", "GET,HEAD,PUT,PATCH,POST,DELETE")
        ]
        if let wanted = request[field: "access-control-request-headers"] {
            fields.append(HTTPMessage.Field("Access-Control-Allow-Headers", wanted))
        }
        if request[field: "access-control-request-private-network"] != nil {
            fields.append(HTTPMessage.Field("Access-Control-Allow-Private-Network", "true"))
        }
        return HTTPMessage.Response(204, fields: fields)
    }

    private static func routedResponse(
        _ request: HTTPMessage.Request,
        _ state: inout FirebaseState,
        at now: Instant
    ) throws(FirebaseError) -> HTTPMessage.Response {
        guard var segments = request.pathSegments else { throw .notFound }
        if !segments.isEmpty, let response = FirebaseHosts.response(segments, request) {
            return response
        }
        // The emulator expects the production host as the first segment of the path. The fake
        // accepts paths with and without this segment.
        if segments.first?.hasSuffix("googleapis.com") == true { segments.removeFirst() }
        if segments.isEmpty {
            guard request.method == "GET" || request.method == "HEAD" else { throw .notFound }
            return HTTPMessage.Response(200, json: FirebaseEmulator.readinessDocument)
        }
        if segments[0] == "emulator" {
            return try FirebaseEmulator.response(
                Array(segments.dropFirst()),
                request,
                &state,
                at: now
            )
        }
        if let keys = try FirebasePublishedKeys.response(segments, request, &state, at: now) {
            return keys
        }
        return try operationResponse(segments, request, &state, at: now)
    }

    private static func operationResponse(
        _ segments: [String],
        _ request: HTTPMessage.Request,
        _ state: inout FirebaseState,
        at now: Instant
    ) throws(FirebaseError) -> HTTPMessage.Response {
        guard
            let (matchedOperation, values) = FirebaseOperation.table.findOperation(
                request.method,
                segments
            ),
            let operation = matchedOperation
        else { throw .notFound }
        if let error = operation.absenceError { throw error }
        let reader = FirebaseCallReader(
            request: request,
            operation: operation,
            pathValues: values,
            settings: state.settings
        )
        let call = try reader.call(at: now)
        if !operation.managesTenants {
            try FirebaseTenants.check(state, call, operation.checkTenantSettings)
        }
        return HTTPMessage.Response(200, json: .object(try operation.handle(&state, call)))
    }
}
