package e2e

import (
	"strings"
	"testing"

	"github.com/uidring/uidring/uid/typed"
	"github.com/uidring/uidring/uid/uidgorm"
	"github.com/uidring/uidring/uid/uidtest"
)

type (
	shopKind  struct{}
	saleKind  struct{}
	typedShop struct {
		ID    typed.ID[shopKind]
		Name  string
		Sales []typedSale `gorm:"foreignKey:ShopID"`
	}
	typedSale struct {
		ID     typed.ID[saleKind]
		ShopID typed.ID[shopKind]
		Shop   *typedShop
		Next   *typed.ID[saleKind]
	}
)

func (shopKind) Prefix() string { return "shop" }
func (saleKind) Prefix() string { return "sale" }

// TestTypedKeys: typed ids are primary and foreign keys that the plug-in fills by their type, BIGINT
// columns, and NULL where they are not set.
func TestTypedKeys(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		db := d.connect(t, d.fresh(t))
		plugin := uidgorm.New(&uidtest.Generator{}, nil)
		if err := db.Use(plugin); err != nil {
			t.Fatal(err)
		}
		if err := plugin.Check(db, &typedShop{}, &typedSale{}); err != nil {
			t.Fatal(err)
		}
		if err := db.AutoMigrate(&typedShop{}, &typedSale{}); err != nil {
			t.Fatal(err)
		}
		types, err := db.Migrator().ColumnTypes(&typedSale{})
		if err != nil {
			t.Fatal(err)
		}
		for _, column := range types {
			if typ := strings.ToLower(column.DatabaseTypeName()); !strings.HasPrefix(typ, "bigint") && typ != "int8" &&
				typ != "integer" {
				t.Errorf("the column %s is %s, want a BIGINT", column.Name(), typ)
			}
		}
		shop := typedShop{Name: "BJ", Sales: []typedSale{{}, {}}}
		must(t, db.Create(&shop))
		next := shop.Sales[1].ID
		must(t, db.Model(&shop.Sales[0]).Update("next", next))
		var back typedSale
		must(t, db.Preload("Shop").First(&back, "id = ?", shop.Sales[0].ID))
		if shop.ID == 0 || next == 0 || back.ShopID != shop.ID || back.Shop.Name != "BJ" || *back.Next != next {
			t.Errorf("stored %+v, read %+v", shop, back)
		}
		if back = (typedSale{}); db.First(&back, "id = ?", next).Error != nil || back.Next != nil {
			t.Errorf("read %+v, want a Next of nil", back)
		}
	})
}
