// Package workernode assigns worker ids from a database through GORM.
package workernode

import (
	_ "gorm.io/driver/mysql"
	_ "gorm.io/gorm"
)
