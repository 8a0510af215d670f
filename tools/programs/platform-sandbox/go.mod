module github.com/di-framework/platform-operator/tools/programs/platform-sandbox

go 1.26.0
