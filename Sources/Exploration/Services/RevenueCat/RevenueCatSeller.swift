package import Providers

extension RevenueCatState: HistorySeller {
    package static let sellerModel: any SellerModel.Type = RevenueCatModel.self
}
