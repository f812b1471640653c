internal import AsyncHTTPClient
internal import Foundation
internal import GRDB
internal import NIOCore
internal import NIOHTTP1

/// Deliberately wrong behavior of the outbox (the queue of pushes), which some defects select.
extension Outbox {
    /// Sends all waiting push messages and returns after they are sent.
    func sendAll() async {
        let policy = store.policies.outbox
        // If the queue cannot be read, the messages wait for the next call.
        let messages = try? await store.pool.read { db in try policy.waitingMessages(db) }
        for (message, _) in messages ?? [] {
            if case .accepted = await policy.sendOnce(self, message, .seconds(12)) {
                await finish(message, "sent")
            }
        }
    }

    /// Writes OneSignal tags that RevenueCat maintains itself.
    func writeTags(_ message: Message) async {
        let unreservedCharacters = CharacterSet.alphanumerics.union(
            CharacterSet(charactersIn: "-._~")
        )
        let id =
            message.recipient.addingPercentEncoding(withAllowedCharacters: unreservedCharacters)
            ?? ""
        var request = HTTPClientRequest(
            url: "\(pushService.baseURL)/apps/\(pushService.appID)/users/by/external_id/\(id)"
        )
        request.method = .PATCH
        request.headers.add(name: "content-type", value: "application/json")
        request.headers.add(name: "authorization", value: "Key " + pushService.apiKey)
        let tags: [String: Any] = ["properties": ["tags": ["subscription_status": "active"]]]
        // The tags are constants that always encode. The outcome of this call is not used.
        let data = (try? JSONSerialization.data(withJSONObject: tags)) ?? Data()
        request.body = .bytes(ByteBuffer(bytes: data))
        _ = try? await client.execute(request, timeout: .seconds(2))
    }
}
