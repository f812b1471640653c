internal import NIOCore
internal import NIOHTTP1
internal import NIOSSL
internal import NIOTLS
internal import Values

/// The first channel handler of a connection to the intercepting proxy.
///
/// It detects the protocol from the first bytes and adds the handlers for it.
final class ProtocolDetector: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The maximum length in bytes of the head of a `CONNECT` request.
    private static let connectHeadBytesMax = 16 << 10
    private static let tlsHandshakeByte: UInt8 = 0x16
    private static let connectPrefix = Array("CONNECT ".utf8)
    private static let http2 = Array("PRI * HTTP/2".utf8)

    private let router: InterceptionRouter
    private var entryPoint: InterceptionRouter.EntryPoint
    private var isInsideTLS: Bool
    private var receivedBytes = ByteBuffer()
    private var isProtocolDetected = false

    init(
        _ router: InterceptionRouter,
        _ entryPoint: InterceptionRouter.EntryPoint,
        isInsideTLS: Bool = false
    ) {
        self.router = router
        self.entryPoint = entryPoint
        self.isInsideTLS = isInsideTLS
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var buffer = unwrapInboundIn(data)
        // Data that arrives after the detection is ignored, because it comes from a client that is
        // being refused.
        guard !isProtocolDetected else { return }
        receivedBytes.writeBuffer(&buffer)
        detectProtocol(context)
    }

    private func detectProtocol(_ context: ChannelHandlerContext) {
        let bytes = receivedBytes.readableBytesView
        guard let first = bytes.first else { return }
        if first == Self.tlsHandshakeByte, !isInsideTLS { return startTLS(context) }
        if entryPoint == .direct, bytes.startsWithWord(Self.connectPrefix) != false {
            guard bytes.startsWithWord(Self.connectPrefix) == true else { return }
            return openTunnel(context)
        }
        switch bytes.startsWithWord(Self.http2) {
        case true?: refuse(.http2, context)
        case nil: return
        case false?:
            guard first.isLetter else { return refuse(.malformedData, context) }
            let (router, entryPoint) = (router, entryPoint)
            installHandlers(on: context) { pipeline in
                try HTTPHost.addConnection(to: pipeline, now: router.now) { request in
                    router.answer(request, at: entryPoint)
                }
            }
        }
    }

    // MARK: A tunnel

    private func openTunnel(_ context: ChannelHandlerContext) {
        guard let headEnd = receivedBytes.readableBytesView.firstRange(of: Array("\r\n\r\n".utf8))
        else {
            if receivedBytes.readableBytes > Self.connectHeadBytesMax {
                refuse(.malformedData, context)
            }
            return
        }
        let headLength = headEnd.upperBound - receivedBytes.readerIndex
        let head = receivedBytes.readString(length: headLength) ?? ""
        let requestLineParts = head.prefix { $0 != "\r\n" }.split(separator: " ")
        guard requestLineParts.count == 3, requestLineParts[2].hasPrefix("HTTP/1.") else {
            return refuse(.malformedData, context)
        }
        let (host, port) = HostAndPort.split(String(requestLineParts[1]), port: 443)
        switch router.tunnelDecision(to: host, port: port) {
        case .open:
            entryPoint = .host(host, port: port)
            let establishedLine = "HTTP/1.1 200 Connection established\r\n\r\n"
            context.writeAndFlush(
                wrapOutboundOut(ByteBuffer(string: establishedLine)),
                promise: nil
            )
            detectProtocol(context)
        case .unreachable:
            isProtocolDetected = true
            context.close(promise: nil)
        case .refused(let refusal):
            isProtocolDetected = true
            sendPlainResponse(InterceptionRouter.response(refusal), context)
        }
    }

    /// Sends an HTTP response before the connection has any HTTP handler, and closes the
    /// connection.
    private func sendPlainResponse(
        _ response: HTTPMessage.Response,
        _ context: ChannelHandlerContext
    ) {
        var buffer = ByteBuffer(
            string: "HTTP/1.1 \(response.status) Forbidden\r\nconnection: close\r\n"
        )
        for field in response.fields { buffer.writeString("\(field.name): \(field.value)\r\n") }
        buffer.writeString("content-length: \(response.body.count)\r\n\r\n")
        buffer.writeBytes(response.body)
        let channel = context.channel
        context.writeAndFlush(wrapOutboundOut(buffer)).whenComplete { _ in
            channel.close(promise: nil)
        }
    }

    // MARK: TLS

    private func startTLS(_ context: ChannelHandlerContext) {
        let router = router
        if case .host(let host, let port) = entryPoint {
            return installHandlers(on: context) { pipeline in
                try Self.addTLS(to: pipeline, router, host, port)
            }
        }
        let channel = context.channel
        installHandlers(on: context) { pipeline in
            let sniHandler = SNIHandler { result in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    guard case .hostname(let name) = result else {
                        let destination = channel.localAddress.map { "\($0)" } ?? "an address"
                        router.refusals.note(
                            InterceptionRefusal(
                                destination: destination,
                                reason: .missingServerName
                            )
                        )
                        channel.close(promise: nil)
                        return
                    }
                    try Self.addTLS(to: pipeline, router, name.lowercased(), 443)
                }
            }
            try pipeline.addHandler(ByteToMessageHandler(sniHandler))
        }
    }

    private static func addTLS(
        to pipeline: ChannelPipeline.SynchronousOperations,
        _ router: InterceptionRouter,
        _ host: String,
        _ port: Int
    ) throws {
        try pipeline.addHandler(NIOSSLServerHandler(context: router.context(for: host)))
        try pipeline.addHandler(
            ProtocolDetector(router, .host(host, port: port), isInsideTLS: true)
        )
    }

    // MARK: Decisions

    /// Adds the handlers for the rest of the connection, passes the received bytes to them, and
    /// removes this handler.
    private func installHandlers(
        on context: ChannelHandlerContext,
        _ add: (ChannelPipeline.SynchronousOperations) throws -> Void
    ) {
        isProtocolDetected = true
        do {
            try add(context.pipeline.syncOperations)
        } catch {
            return refuse(.malformedData, context)
        }
        let bufferedBytes = receivedBytes
        receivedBytes = ByteBuffer()
        context.fireChannelRead(NIOAny(bufferedBytes))
        context.fireChannelReadComplete()
        context.pipeline.syncOperations.removeHandler(self).whenComplete { _ in }
    }

    private func refuse(_ reason: InterceptionRefusal.Reason, _ context: ChannelHandlerContext) {
        isProtocolDetected = true
        router.refusals.note(InterceptionRefusal(destination: destination, reason: reason))
        context.close(promise: nil)
    }

    private var destination: String {
        switch entryPoint {
        case .direct: "the intercepting proxy"
        case .host(let host, let port): "\(host):\(port)"
        }
    }

    /// Closes the connection after an error, and records a TLS failure that the client caused.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if isInsideTLS, let reason = Self.reason(of: error) {
            router.refusals.note(InterceptionRefusal(destination: destination, reason: reason))
        }
        context.close(promise: nil)
    }

    /// Returns the reason for a TLS failure; nil when the client only disconnected.
    private static func reason(of error: any Error) -> InterceptionRefusal.Reason? {
        let errorText = "\(error)"
        // These errors mean that the client rejected the certificate. OpenSSL sends the alert for a
        // rejected certificate unencrypted. BoringSSL expects an encrypted alert, so it reports a
        // damaged packet.
        if ["ALERT", "BAD_PACKET_LENGTH", "DECRYPTION_FAILED"].contains(where: errorText.contains) {
            return .untrustedCertificate
        }
        guard let error = error as? NIOSSLError, case .handshakeFailed = error else { return nil }
        return errorText.contains("EOF") || errorText.contains("Closed") ? nil : .malformedData
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is IdleStateHandler.IdleStateEvent { context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }
}

extension ByteBufferView {
    /// Returns whether the bytes begin with a word; nil when there are too few bytes to know.
    fileprivate func startsWithWord(_ word: [UInt8]) -> Bool? {
        guard starts(with: word.prefix(count)) else { return false }
        return count < word.count ? nil : true
    }
}

extension UInt8 {
    fileprivate var isLetter: Bool {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self)
            || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self)
    }
}
