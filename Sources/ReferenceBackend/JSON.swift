internal import Foundation
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

/// Reads and writes the JSON bodies of requests and responses of the web framework Hummingbird.
enum JSON {
    /// The maximum size of an accepted body, in bytes.
    ///
    /// RevenueCat's bodies have a few kilobytes.
    static let bodyBytesMax = 10 << 20

    /// Decodes the JSON body of a request; nil when the body is not JSON of the given type.
    static func decode<Body: Decodable>(_ request: Request) async throws -> Body? {
        let buffer = try await request.body.collect(upTo: bodyBytesMax)
        // A body that is not JSON of this type is an ordinary case, which the route refuses.
        return try? JSONDecoder().decode(Body.self, from: Data(buffer.readableBytesView))
    }

    static func response(_ status: HTTPResponse.Status, _ value: [String: Any]) -> Response {
        // The values are strings, numbers and Booleans, so they always encode. Status
        // 500 would show a bug.
        guard let data = try? JSONSerialization.data(withJSONObject: value) else {
            return Response(status: .internalServerError)
        }
        return Response(
            status: status,
            headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: data))
        )
    }

    static func idInPath(_ context: BasicRequestContext) -> String {
        let raw = context.parameters.get("id") ?? ""
        return raw.removingPercentEncoding ?? raw
    }
}
