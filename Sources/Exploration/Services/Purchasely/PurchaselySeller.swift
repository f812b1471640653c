package import Providers

extension PurchaselyState: HistorySeller {
    package static let sellerModel: any SellerModel.Type = PurchaselyModel.self
}
