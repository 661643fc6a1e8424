module github.com/samsalog/samsa/bench

go 1.26.0
